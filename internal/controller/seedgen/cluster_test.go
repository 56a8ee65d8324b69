package seedgen

import (
	"context"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

// put makes an object for the time of the test.
func (w *world) put(o client.Object) {
	w.t.Helper()
	w.putIn(w.api, o)
}

func (w *world) putIn(api client.Client, o client.Object) {
	w.t.Helper()
	require.NoError(w.t, api.Create(w.t.Context(), o))
	w.t.Cleanup(func() { _ = api.Delete(context.Background(), o) })
}

// furnish makes the cluster's objects.
func (w *world) furnish() {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if err := w.api.Create(w.t.Context(), ns); err != nil && !apierrors.IsAlreadyExists(err) {
		require.NoError(w.t, err)
	}
	w.server.Apply(w.t, "config/rbac/node/seed_account.yaml")
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-config-v1"},
		Data: map[string]string{"install-config": "baseDomain: example.com\nmetadata:\n  name: " + managed +
			"\nnetworking:\n  machineNetwork:\n  - cidr: 192.0.2.0/24\n  clusterNetwork:\n  - cidr: 10.128.0.0/14\n  serviceNetwork: [172.30.0.0/16]\n"}})
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "sno",
		Labels: map[string]string{cluster.LabelControlPlane: "", cluster.LabelMaster: "", cluster.LabelWorker: ""}}}
	w.put(n)
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.10"}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	require.NoError(w.t, w.api.Status().Update(w.t.Context(), n))
	v := &configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"}, Spec: configv1.ClusterVersionSpec{ClusterID: clusterID}}
	w.put(v)
	v.Status.Desired = configv1.Release{Version: "4.20.3", Image: "quay.io/openshift-release-dev/ocp-release@sha256:00"}
	v.Status.VersionHash, v.Status.AvailableUpdates, v.Status.ObservedGeneration = "x", []configv1.Release{}, v.Generation
	require.NoError(w.t, w.api.Status().Update(w.t.Context(), v))
	w.health(true)
}

// health sets the health of the only ClusterOperator.
func (w *world) health(well bool) {
	w.t.Helper()
	co := &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "etcd"}}
	if err := w.api.Get(w.t.Context(), client.ObjectKeyFromObject(co), co); err != nil {
		w.put(co)
	}
	is := map[bool]configv1.ConditionStatus{true: configv1.ConditionTrue, false: configv1.ConditionFalse}
	co.Status.Conditions = nil
	for kind, yes := range map[configv1.ClusterStatusConditionType]bool{
		configv1.OperatorAvailable: well, configv1.OperatorProgressing: false, configv1.OperatorDegraded: !well} {
		co.Status.Conditions = append(co.Status.Conditions, configv1.ClusterOperatorStatusCondition{
			Type: kind, Status: is[yes], LastTransitionTime: metav1.Now()})
	}
	require.NoError(w.t, w.api.Status().Update(w.t.Context(), co))
}

// credentials makes the Secret, with a kubeconfig of the hub if asked.
func (w *world) credentials(withHub bool) {
	w.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: lcav1.SeedSecretName},
		Data: map[string][]byte{lcav1.SeedSecretAuthKey: []byte(auth)}}
	if withHub {
		s.Data[lcav1.SeedSecretHubKey] = kubeconfig(w.t, w.hubServer().Config)
	}
	w.put(s)
}

func kubeconfig(t testing.TB, c *rest.Config) []byte {
	t.Helper()
	if c == nil {
		t.Skip("reason: a kubeconfig is of an API server; run without -short")
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["hub"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
	config.Contexts["admin"] = &clientcmdapi.Context{Cluster: "hub", AuthInfo: "admin"}
	config.CurrentContext = "admin"
	data, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return data
}

// manage has the hub manage the cluster: its ManagedCluster exists, and is Available.
func (w *world) manage(edit func(*clusterv1.ManagedCluster)) {
	w.t.Helper()
	w.hub = w.hubServer().Client
	w.serveKlusterlets(true)
	mc := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: managed,
		Labels: map[string]string{"clusterID": clusterID, "site": "north"}}, Spec: clusterv1.ManagedClusterSpec{HubAcceptsClient: true}}
	if edit != nil {
		edit(mc)
	}
	w.putIn(w.hub, mc)
	w.available()
}

// klusterletDefinition is the definition of the hub's agent, once it was taken from the server.
var klusterletDefinition *apiextensionsv1.CustomResourceDefinition

// serveKlusterlets has the cluster serve the kind of a hub's agent, or not.
func (w *world) serveKlusterlets(yes bool) {
	w.t.Helper()
	if w.server.Config == nil {
		return // an API in memory has definitions for no kind
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	key := client.ObjectKey{Name: "klusterlets.operator.open-cluster-management.io"}
	err := w.api.Get(w.t.Context(), key, crd)
	require.NoError(w.t, client.IgnoreNotFound(err))
	if there := err == nil; there == yes {
		return
	}
	if !yes {
		klusterletDefinition = &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.Name, Annotations: crd.Annotations},
			Spec: crd.Spec}
		require.NoError(w.t, w.api.Delete(w.t.Context(), crd))
	} else {
		require.NoError(w.t, w.api.Create(w.t.Context(), klusterletDefinition.DeepCopy()))
	}
	require.Eventually(w.t, func() bool {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "operator.open-cluster-management.io", Version: "v1", Kind: "KlusterletList"})
		return (w.connect(w.server, rest.ImpersonationConfig{}).List(w.t.Context(), list) == nil) == yes
	}, 2*time.Minute, 50*time.Millisecond)
}

// mc is the cluster on the hub; nil for none.
func (w *world) mc() *clusterv1.ManagedCluster {
	w.t.Helper()
	mc := &clusterv1.ManagedCluster{}
	err := w.hub.Get(w.t.Context(), client.ObjectKey{Name: managed}, mc)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	return mc
}

// available is what the hub reports once the cluster's agent has registered.
func (w *world) available() {
	w.t.Helper()
	mc := w.mc()
	meta.SetStatusCondition(&mc.Status.Conditions, metav1.Condition{Type: clusterv1.ManagedClusterConditionAvailable,
		Status: metav1.ConditionTrue, Reason: "ManagedClusterAvailable", Message: "Managed cluster is available"})
	require.NoError(w.t, w.hub.Status().Update(w.t.Context(), mc))
}
