package netmachineconfig

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
)

var shared = apitest.New(apitest.Options{
	CRDs: []string{apitest.Nmstate},
	OpenShiftCRDs: []string{"machineconfigpools.machineconfiguration.openshift.io", "machineconfigs.machineconfiguration.openshift.io",
		"machineconfigurations.operator.openshift.io"},
	AddToScheme: []func(*runtime.Scheme) error{nmstatev1.AddToScheme, mcv1.Install},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

func start(t *testing.T) client.Client {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	s := shared.Server(t)
	yes := true
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{Scheme: s.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes}})
	require.NoError(t, err)
	r := &Reconciler{Options{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: events.NewFakeRecorder(100),
		Log: slog.New(slog.DiscardHandler), Now: time.Now}}
	require.NoError(t, r.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() { cancel(); done.Wait() })
	return s.Client
}

func eventually(t *testing.T, is func() bool, what string) {
	t.Helper()
	require.Eventually(t, is, time.Minute, 50*time.Millisecond, what)
}

func makePool(t *testing.T, api client.Client, name string, labels map[string]string) {
	t.Helper()
	pool := &mcv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	require.NoError(t, api.Create(t.Context(), pool))
	t.Cleanup(func() { _ = api.Delete(context.Background(), pool) })
}

func edit(t *testing.T, api client.Client, o client.Object, patch string) {
	t.Helper()
	require.NoError(t, api.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// TestMachineConfigsOfAPolicy walks one policy through its life: pools that are selected and not, an edit, a MachineConfig that a person
// changes or deletes, and the deletion of the policy.
func TestMachineConfigsOfAPolicy(t *testing.T) {
	api := start(t)
	makePool(t, api, "worker", map[string]string{"pools.operator.machineconfiguration.openshift.io/worker": ""})
	makePool(t, api, "master", map[string]string{"pools.operator.machineconfiguration.openshift.io/master": ""})
	policy := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "vlan"}}
	policy.Spec.MachineConfigPoolSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pools.operator.machineconfiguration.openshift.io/worker": ""}}
	policy.Spec.DesiredState = &runtime.RawExtension{Raw: []byte(`{"interfaces":[{"name":"eth1"}]}`)}
	require.NoError(t, api.Create(t.Context(), policy))
	name := client.ObjectKey{Name: "99-worker-generated-network-vlan"}
	config := func() *mcv1.MachineConfig {
		mc := &mcv1.MachineConfig{}
		if api.Get(t.Context(), name, mc) != nil {
			return nil
		}
		return mc
	}
	carries := func(document string) func() bool {
		return func() bool {
			mc := config()
			if mc == nil {
				return false
			}
			has, err := machineconfig.Carries(mc.Spec.Config.Raw, "vlan", []byte(document))
			return err == nil && has
		}
	}
	accepted := func(status, message string) func() bool {
		return func() bool {
			now := &nmstatev1.NodeNetworkConfigurationPolicy{}
			require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(policy), now))
			for _, c := range now.Status.Conditions {
				if c.Type == nmstatev1.PolicyAccepted {
					return string(c.Status) == status && c.Message == message
				}
			}
			return false
		}
	}
	eventually(t, carries(`{"interfaces":[{"name":"eth1"}]}`), "the MachineConfig is written")
	require.True(t, metav1.IsControlledBy(config(), policy))
	require.Equal(t, "worker", config().Labels[machineconfig.RoleLabel])
	eventually(t, accepted("True", "Success: "+name.Name), "and reported")

	edit(t, api, policy, `{"spec":{"desiredState":{"interfaces":[{"name":"eth2"}]}}}`)
	eventually(t, carries(`{"interfaces":[{"name":"eth2"}]}`), "an edit arrives")
	edit(t, api, config(), `{"spec":{"config":{"ignition":{"version":"3.2.0"},"storage":null}}}`)
	eventually(t, carries(`{"interfaces":[{"name":"eth2"}]}`), "what a person changed is corrected")
	require.NoError(t, api.Delete(t.Context(), config()))
	eventually(t, carries(`{"interfaces":[{"name":"eth2"}]}`), "what a person deleted is restored")

	edit(t, api, policy, `{"spec":{"machineConfigPoolSelector":{"matchLabels":{"pools.operator.machineconfiguration.openshift.io/worker":"x"}}}}`)
	eventually(t, accepted("False", "Error: spec.machineConfigPoolSelector does not match any MachineConfigPools; an empty selector matches none"),
		"a selector that matches nothing is reported")
	require.Nil(t, config())
	edit(t, api, policy, `{"spec":{"machineConfigPoolSelector":{"matchLabels":{"pools.operator.machineconfiguration.openshift.io/worker":""}}}}`)
	eventually(t, carries(`{"interfaces":[{"name":"eth2"}]}`), "selected again")

	require.NoError(t, api.Delete(t.Context(), policy))
	eventually(t, func() bool {
		return config() == nil && api.Get(t.Context(), client.ObjectKeyFromObject(policy), policy.DeepCopy()) != nil
	}, "MachineConfig and policy are gone")
	apitest.RequireRest(t, "netmachineconfig")
}

// TestAMachineConfigOfAnotherOwnerStays, whatever its labels say.
func TestAMachineConfigOfAnotherOwnerStays(t *testing.T) {
	api := start(t)
	other := &mcv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: "99-mine", Labels: map[string]string{nmstatev1.PolicyLabel: "p"}}}
	other.Spec.Config.Raw = []byte(`{"ignition":{"version":"3.2.0"}}`)
	require.NoError(t, api.Create(t.Context(), other))
	t.Cleanup(func() { _ = api.Delete(context.Background(), other) })
	policy := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	policy.Spec.MachineConfigPoolSelector = &metav1.LabelSelector{}
	require.NoError(t, api.Create(t.Context(), policy))
	eventually(t, func() bool {
		require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(policy), policy))
		return len(policy.Status.Conditions) > 0
	}, "reported")
	require.NoError(t, api.Delete(t.Context(), policy))
	eventually(t, func() bool { return api.Get(t.Context(), client.ObjectKeyFromObject(policy), policy.DeepCopy()) != nil }, "gone")
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(other), other))
}
