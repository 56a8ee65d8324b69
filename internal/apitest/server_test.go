package apitest_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{OpenShiftCRDs: []string{
	"clusteroperators.config.openshift.io",
	"clusterversions.config.openshift.io",
	"infrastructures.config.openshift.io",
	"machineconfigs.machineconfiguration.openshift.io",
	"machineconfigpools.machineconfiguration.openshift.io",
	"routes.route.openshift.io",
}})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

func TestServerHoldsTheDefinitionsAskedFor(t *testing.T) {
	server := shared.Server(t)
	for _, name := range []string{
		"ipconfigs.lca.openshift.io",
		"clusterversions.config.openshift.io",
		"machineconfigs.machineconfiguration.openshift.io",
	} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, server.Client.Get(context.Background(), client.ObjectKey{Name: name}, crd), name)
	}
}

func TestDeleteIPConfigRemovesAnObjectWithFinalizers(t *testing.T) {
	server := shared.Server(t)
	server.DeleteIPConfig(t)
	ipc := &lcav1.IPConfig{Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}
	ipc.Name = lcav1.IPConfigName
	ipc.Finalizers = []string{"example.com/held"}
	require.NoError(t, server.Client.Create(context.Background(), ipc))

	server.DeleteIPConfig(t)

	list := &lcav1.IPConfigList{}
	require.NoError(t, server.Client.List(context.Background(), list))
	require.Empty(t, list.Items)
}
