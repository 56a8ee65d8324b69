package seedgen

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

const hubModule = "open-cluster-management.io/api"

var shared = apitest.New(apitest.Options{
	CRDs: []string{"lca.openshift.io_*.yaml"},
	OpenShiftCRDs: []string{
		"apiservers.config.openshift.io", "clusteroperators.config.openshift.io", "infrastructures.config.openshift.io",
		"clusterversions.config.openshift.io", "proxies.config.openshift.io",
		"machineconfigs.machineconfiguration.openshift.io", "machineconfigpools.machineconfiguration.openshift.io",
	},
	ModuleCRDs:  map[string][]string{hubModule: {"operator/v1/*_klusterlets.crd.yaml"}},
	AddToScheme: []func(*runtime.Scheme) error{cluster.AddToScheme},
})

// hub is the API server of a hub, with the real definition of ManagedCluster.
var hub = apitest.New(apitest.Options{
	CRDs:        []string{"lca.openshift.io_ipconfigs.yaml"},
	ModuleCRDs:  map[string][]string{hubModule: {"cluster/v1/*_managedclusters.crd.yaml", "addon/v1alpha1/*_managedclusteraddons.crd.yaml"}},
	AddToScheme: []func(*runtime.Scheme) error{clusterv1.Install},
	Edit:        func(*apiextensionsv1.CustomResourceDefinition) {},
})

func TestMain(m *testing.M) {
	code := shared.Run(m)
	if hub.Stop() != nil {
		code = max(code, 1)
	}
	os.Exit(code)
}

const (
	managed   = "sno"
	clusterID = "0b1c2d3e-0000-4000-8000-000000000001"
	image     = "registry.example.com/seeds/sno:4.20.3"
	auth      = `{"auths":{"registry.example.com":{"auth":"cGxhbnRlZC1zZWNyZXQ6cHc="}}}`
)

// world is a cluster with a healthy API, its hub, a fake node, and the controller between them.
type world struct {
	t    testing.TB
	api  client.Client // the user's
	hub  client.Client // of the hub's administrator
	node *fakeNode
	r    *Reconciler
	now  time.Time
	// events the API took.
	events []string
	// budget is how many more changes succeed, of API, hub and node; nil is no limit.
	budget *int
	// away makes the hub silent.
	away     bool
	who      rest.ImpersonationConfig
	registry *prometheus.Registry
}

func newWorld(t testing.TB) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	w := &world{t: t, api: shared.Server(t).Client, node: newFakeNode(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.node.writing = w.spend
	w.deleteSeedGenerator()
	t.Cleanup(w.deleteSeedGenerator)
	w.serveKlusterlets(false)
	w.furnish()
	w.restart()
	return w
}

func (w *world) deleteSeedGenerator() {
	sg := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName}}
	require.NoError(w.t, client.IgnoreNotFound(w.api.Delete(context.Background(), sg)))
}

// spend counts a change, or fails it as the death of the agent does.
func (w *world) spend() error {
	if w.budget != nil {
		if *w.budget == 0 {
			return errors.New("the agent is dead")
		}
		*w.budget--
	}
	return nil
}

// restart gives the world a new agent, as a restarted pod is one.
func (w *world) restart() {
	w.t.Helper()
	w.registry = prometheus.NewRegistry()
	metrics, err := NewMetrics(w.registry)
	require.NoError(w.t, err)
	c := w.connect(shared.Server(w.t), w.who)
	w.r = &Reconciler{
		Client: c, Reader: c, Log: slog.New(slog.DiscardHandler), Node: w.node.node(), Metrics: metrics,
		Now: func() time.Time { return w.now }, Random: func() uint16 { return 0xbeef },
		Hub: func(kubeconfig []byte) (client.Client, string, error) {
			_, err := cluster.HubConfig(kubeconfig)
			if err != nil {
				return nil, "", err
			}
			return w.distant(w.connect(hub.Server(w.t), rest.ImpersonationConfig{})), "https://hub.example.com:6443", nil
		},
	}
}

// connect makes a client whose changes count.
func (w *world) connect(server *apitest.Server, who rest.ImpersonationConfig) client.WithWatch {
	config := rest.CopyConfig(server.Config)
	config.QPS = -1
	config.Impersonate = who
	base, err := client.NewWithWatch(config, client.Options{Scheme: server.Scheme})
	require.NoError(w.t, err)
	return interceptor.NewClient(base, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if e, ok := o.(*eventsv1.Event); ok {
				err := c.Create(ctx, o, opts...)
				if err == nil {
					w.events = append(w.events, e.Type+" "+e.Reason+": "+e.Note)
				}
				return err
			}
			if err := w.spend(); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := w.spend(); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := w.spend(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.spend(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
}

// distant is a hub that can be away.
func (w *world) distant(c client.WithWatch) client.Client {
	away := errors.New("dial tcp 192.0.2.99:6443: connect: connection refused")
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.away {
				return away
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if w.away {
				return away
			}
			return c.Create(ctx, o, opts...)
		},
	})
}

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
	v.Status.VersionHash, v.Status.AvailableUpdates = "x", []configv1.Release{}
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
		s.Data[lcav1.SeedSecretHubKey] = kubeconfig(w.t, hub.Server(w.t).Config)
	}
	w.put(s)
}

func kubeconfig(t testing.TB, c *rest.Config) []byte {
	t.Helper()
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
	w.hub = hub.Server(w.t).Client
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
		return (w.connect(shared.Server(w.t), rest.ImpersonationConfig{}).List(w.t.Context(), list) == nil) == yes
	}, 30*time.Second, 50*time.Millisecond)
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

// ask creates the SeedGenerator.
func (w *world) ask() *lcav1.SeedGenerator {
	w.t.Helper()
	sg := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName}, Spec: lcav1.SeedGeneratorSpec{SeedImage: image}}
	require.NoError(w.t, w.api.Create(w.t.Context(), sg))
	return sg
}

func (w *world) get() *lcav1.SeedGenerator {
	w.t.Helper()
	sg := &lcav1.SeedGenerator{}
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKey{Name: lcav1.SeedGeneratorName}, sg))
	return sg
}

// annotate does what a person is told to do.
func (w *world) annotate(key string) {
	w.t.Helper()
	sg := w.get()
	sg.Annotations = map[string]string{key: "now"}
	require.NoError(w.t, w.api.Update(w.t.Context(), sg))
}

// pass reconciles once; time goes on as the controller asks.
func (w *world) pass() error {
	result, err := w.r.Reconcile(w.t.Context(), singletonRequest())
	w.now = w.now.Add(max(result.RequeueAfter, time.Second))
	return err
}

// until reconciles until the phase is reached.
func (w *world) until(p lcav1.SeedGeneratorPhase) *lcav1.SeedGenerator {
	w.t.Helper()
	for range 200 {
		require.NoError(w.t, w.pass())
		if sg := w.get(); sg.Status.Phase == p {
			return sg
		}
	}
	w.t.Fatalf("phase %s is never reached: %+v", p, w.get().Status)
	return nil
}

// rest reconciles until nothing is left on the node.
func (w *world) rest() {
	w.t.Helper()
	for range 20 {
		require.NoError(w.t, w.pass())
	}
	names, err := w.node.List(seed.Dir)
	require.NoError(w.t, err)
	require.NotContains(w.t, names, "record.json")
	for _, name := range []string{"hub.kubeconfig", "auth.json", "managedcluster.json", "cosign.key"} {
		require.NotContains(w.t, names, name, "no secret is left on the node")
	}
}

func (w *world) record() *record.Record {
	w.t.Helper()
	rec, err := record.Read(w.node)
	require.NoError(w.t, err)
	return rec
}

// journal appends entries as lca-cli does.
func (w *world) journal(entries ...flow.Entry) {
	w.t.Helper()
	request, err := seed.ReadRequest(w.node)
	require.NoError(w.t, err)
	boot := string(w.node.files[host.BootIDFile])
	for _, e := range entries {
		w.now = w.now.Add(time.Second)
		e.Version, e.Flow, e.Time, e.Boot, e.Operation = flow.SchemaVersion, seed.FlowCreate, w.now, boot[:len(boot)-1], request.OperationID
		line, err := json.Marshal(e)
		require.NoError(w.t, err)
		require.NoError(w.t, w.node.Append(operation.JournalPath(request.OperationID), append(line, '\n'), 0o600))
	}
}

func step(kind flow.Kind, name string, index int) flow.Entry {
	return flow.Entry{Kind: kind, Step: name, Title: "Do " + name, Index: index, Total: 3, TookMS: 1500}
}

// capture plays lca-cli until the copy is made.
func (w *world) capture() {
	w.t.Helper()
	w.journal(flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, seed.StepCapture, 1), step(flow.KindDone, seed.StepCapture, 1))
}

// publishes plays lca-cli from the copy to its end.
func (w *world) publishes() { w.publishesAs(seed.Outcome{}) }

// publishesAs has lca-cli say more of what it published.
func (w *world) publishesAs(o seed.Outcome) {
	w.t.Helper()
	w.journal(step(flow.KindIntent, seed.StepPublish, 2), step(flow.KindDone, seed.StepPublish, 2), flow.Entry{Kind: flow.KindCommitted},
		flow.Entry{Kind: flow.KindFinished})
	request, err := seed.ReadRequest(w.node)
	require.NoError(w.t, err)
	o.OperationID, o.Image, o.Digest, o.Size = request.OperationID, request.SeedImage, "sha256:11", 300
	o.Layers = []seed.Layer{{Content: "var.tgz", Digest: "sha256:22", Size: 200}, {Content: "ostree.tgz", Digest: "sha256:33", Size: 100, Reused: true}}
	data, err := json.Marshal(o)
	require.NoError(w.t, err)
	w.node.files[seed.OutcomeFile] = data
	delete(w.node.units, seed.UnitCreate)
}

// undoes plays lca-cli that undoes what it began.
func (w *world) undoes(why string) {
	w.t.Helper()
	failed := step(flow.KindFailed, seed.StepPublish, 2)
	failed.Error = why
	w.journal(step(flow.KindIntent, seed.StepPublish, 2), failed, flow.Entry{Kind: flow.KindRolledBack})
	delete(w.node.units, seed.UnitCreate)
}

func condition(sg *lcav1.SeedGenerator, kind string) *metav1.Condition {
	return meta.FindStatusCondition(sg.Status.Conditions, kind)
}

// cleanUpVersion removes ClusterVersion.
func (w *world) cleanUpVersion() {
	w.t.Helper()
	v := &configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"}}
	require.NoError(w.t, client.IgnoreNotFound(w.api.Delete(w.t.Context(), v)))
}
