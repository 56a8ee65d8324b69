package ipconfig

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

var shared = apitest.New(apitest.Options{
	CRDs: []string{"lca.openshift.io_ipconfigs.yaml"},
	OpenShiftCRDs: []string{
		"apiservers.config.openshift.io", "clusteroperators.config.openshift.io", "infrastructures.config.openshift.io",
		"machineconfigs.machineconfiguration.openshift.io", "machineconfigpools.machineconfiguration.openshift.io",
	},
	AddToScheme: []func(*runtime.Scheme) error{cluster.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// world is a cluster with a healthy API, a fake node, and the controller between them.
type world struct {
	t      testing.TB
	api    client.Client // the user's
	node   *fakeNode
	r      *Reconciler
	now    time.Time
	events []string
	// loseEvents keeps events from being published.
	loseEvents bool
	writes     int
	// pass, if set, reconciles instead of the Reconciler's own method.
	pass func() (reconcile.Result, error)
	// wire, if set, intercepts the operator's requests to the API server.
	wire func(http.RoundTripper) http.RoundTripper
	// registry has the metrics of the operator that runs.
	registry *prometheus.Registry
	// budget is how many more writes the API takes before it fails; nil is no limit.
	budget *int
	// exported is the ipc.json of the old stateroot while the new one runs.
	exported []byte
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server := shared.ServerOrMemory(t)
	server.DeleteIPConfig(t)
	w := &world{t: t, api: server.Client, node: newFakeNode(), now: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)}
	w.furnish()
	w.restart(server)
	return w
}

// restart gives the world a new operator, as a restarted pod is one.
func (w *world) restart(server *apitest.Server) {
	w.t.Helper()
	w.restartAs(server, rest.ImpersonationConfig{})
}

// connect makes a client of an identity. An API in memory has one client, and knows no rights.
func (w *world) connect(server *apitest.Server, who rest.ImpersonationConfig) client.WithWatch {
	w.t.Helper()
	if server.Config == nil {
		return server.Client
	}
	config := rest.CopyConfig(server.Config)
	config.QPS = -1 // tests are not to be slowed down
	config.Impersonate = who
	if w.wire != nil {
		config.Wrap(w.wire)
	}
	base, err := client.NewWithWatch(config, client.Options{Scheme: server.Scheme})
	require.NoError(w.t, err)
	return base
}

// restartAs gives the world a new operator with the rights of an identity.
func (w *world) restartAs(server *apitest.Server, who rest.ImpersonationConfig) {
	w.t.Helper()
	base := w.connect(server, who)
	w.registry = prometheus.NewRegistry()
	metrics, err := NewMetrics(w.registry, func() time.Time { return w.now })
	require.NoError(w.t, err)
	w.r = &Reconciler{
		Client: interceptor.NewClient(base, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if e, ok := o.(*eventsv1.Event); ok {
					if w.loseEvents {
						return errors.New("lost on the way")
					}
					return w.hear(e, c.Create(ctx, o, opts...))
				}
				if err := w.spend(); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
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
		}),
		Reader: base, Log: slog.New(slog.DiscardHandler), Node: w.node.node(), Metrics: metrics,
		Now: func() time.Time { return w.now }, Random: func() uint16 { return 0xbeef },
	}
}

// spend counts a write, or fails it.
func (w *world) spend() error {
	if w.budget != nil {
		if *w.budget == 0 {
			return errors.New("the API is gone")
		}
		*w.budget--
	}
	w.writes++
	return nil
}

// hear notes an event that the API took.
func (w *world) hear(e *eventsv1.Event, err error) error {
	if err == nil {
		w.events = append(w.events, e.Type+" "+e.Reason+": "+e.Note)
	}
	return err
}

// furnish makes the cluster's objects.
func (w *world) furnish() {
	w.t.Helper()
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-config-v1"},
		Data: map[string]string{"install-config": "networking:\n  machineNetwork:\n  - cidr: 192.0.2.0/24\n  - cidr: 198.51.100.0/24\n" +
			"  clusterNetwork:\n  - cidr: 10.128.0.0/14\n  serviceNetwork: [172.30.0.0/16]\n"}})
	w.put(&mcv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: cluster.DnsmasqMachineConfig}})
	w.addNode("sno", "192.0.2.10", cluster.LabelControlPlane, cluster.LabelMaster, cluster.LabelWorker)
	w.operatorDegraded(false)
}

// put makes an object for the time of the test.
func (w *world) put(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, w.api.Create(w.t.Context(), o))
	w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), o) })
}

func (w *world) addNode(name, address string, labels ...string) {
	w.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, l := range labels {
		n.Labels[l] = ""
	}
	w.put(n)
	w.address(name, address)
}

func (w *world) address(name, address string) {
	w.t.Helper()
	n := &corev1.Node{}
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKey{Name: name}, n))
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	require.NoError(w.t, w.api.Status().Update(w.t.Context(), n))
	if name == "sno" {
		w.node.doc.Interfaces[1].IPv4.Addresses = []netstate.Address{{IP: address, PrefixLength: 24}}
	}
}

// operatorDegraded sets the health of the only ClusterOperator.
func (w *world) operatorDegraded(degraded bool) {
	w.t.Helper()
	co := &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "etcd"}}
	if err := w.api.Get(w.t.Context(), client.ObjectKeyFromObject(co), co); err != nil {
		w.put(co)
	}
	status := map[bool]configv1.ConditionStatus{true: configv1.ConditionTrue, false: configv1.ConditionFalse}
	co.Status.Conditions = nil
	for kind, yes := range map[configv1.ClusterStatusConditionType]bool{
		configv1.OperatorAvailable: true, configv1.OperatorProgressing: false, configv1.OperatorDegraded: degraded} {
		co.Status.Conditions = append(co.Status.Conditions, configv1.ClusterOperatorStatusCondition{
			Type: kind, Status: status[yes], LastTransitionTime: metav1.Now()})
	}
	require.NoError(w.t, w.api.Status().Update(w.t.Context(), co))
}

// reconcile runs the controller once.
func (w *world) reconcile() time.Duration {
	w.t.Helper()
	pass := w.pass
	if pass == nil {
		pass = func() (reconcile.Result, error) { return w.r.Reconcile(w.t.Context(), kind.Request()) }
	}
	result, err := pass()
	require.NoError(w.t, err)
	w.now = w.now.Add(max(result.RequeueAfter, time.Second))
	return result.RequeueAfter
}

// rest reconciles until nothing is written for a minute.
func (w *world) rest() *lcav1.IPConfig {
	w.t.Helper()
	quiet := w.now
	for range 60 {
		before := w.writes
		w.reconcile()
		if w.writes != before {
			quiet = w.now
			continue
		}
		if w.now.Sub(quiet) >= time.Minute {
			return w.get()
		}
		w.now = w.now.Add(8 * time.Second) // nothing happens: let time pass sooner
	}
	w.t.Fatal("the controller does not come to rest")
	return nil
}

func (w *world) find() (*lcav1.IPConfig, error) {
	ipc := &lcav1.IPConfig{}
	return ipc, w.api.Get(w.t.Context(), client.ObjectKey{Name: lcav1.IPConfigName}, ipc)
}

func (w *world) get() *lcav1.IPConfig {
	w.t.Helper()
	ipc, err := w.find()
	require.NoError(w.t, err)
	return ipc
}

// change edits the object as a user does, and lets the controller come to rest.
func (w *world) change(edit func(*lcav1.IPConfig)) *lcav1.IPConfig {
	w.t.Helper()
	ipc := w.get()
	edit(ipc)
	require.NoError(w.t, w.api.Update(w.t.Context(), ipc))
	return w.rest()
}

func (w *world) stage(s lcav1.IPConfigStage) *lcav1.IPConfig {
	w.t.Helper()
	return w.change(func(ipc *lcav1.IPConfig) { ipc.Spec.Stage = s })
}

// toNewAddress is the request that most tests make.
func toNewAddress(ipc *lcav1.IPConfig) {
	ipc.Spec.Stage = lcav1.StageConfig
	ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "198.51.100.10", MachineNetwork: "198.51.100.0/24", Gateway: "198.51.100.1"}
}

// configuring is a world in which lca-cli was just given the request.
func configuring(t *testing.T) (*world, ipconfig.Request) {
	t.Helper()
	w := newWorld(t)
	w.rest()
	w.change(toNewAddress)
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot), "%v: %v", w.node.acts, w.get().Status.Conditions)
	request, err := ipconfig.ReadRequest(w.node)
	require.NoError(t, err)
	return w, request
}

// journal appends entries as lca-cli does on the stateroot that runs.
func (w *world) journal(name string, entries ...flow.Entry) {
	w.t.Helper()
	w.journalAt(operation.JournalPath(w.operation()), name, entries...)
}

func (w *world) operation() string {
	request, err := ipconfig.ReadRequest(w.node)
	require.NoError(w.t, err)
	return request.OperationID
}

func (w *world) journalAt(path, name string, entries ...flow.Entry) {
	w.t.Helper()
	boot, err := w.node.Read(host.BootIDFile)
	require.NoError(w.t, err)
	for _, e := range entries {
		w.now = w.now.Add(time.Second)
		e.Version, e.Flow, e.Time, e.Boot, e.Operation = flow.SchemaVersion, name, w.now, string(boot[:len(boot)-1]), w.operation()
		line, err := json.Marshal(e)
		require.NoError(w.t, err)
		require.NoError(w.t, w.node.Append(path, append(line, '\n'), 0o600))
	}
}

func step(kind flow.Kind, name string, index int) flow.Entry {
	return flow.Entry{Kind: kind, Step: name, Title: "Do " + name, Index: index, Total: 3, TookMS: 1500}
}

// pivot plays pre-pivot to its end and boots the new stateroot.
func (w *world) pivot(request ipconfig.Request) {
	w.t.Helper()
	w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, ipconfig.StepFlip, 1),
		step(flow.KindDone, ipconfig.StepFlip, 1), flow.Entry{Kind: flow.KindCommitted}, step(flow.KindIntent, ipconfig.StepReboot, 2))
	w.arrive(request)
}

// arrive boots the new stateroot, to which ipc.json is never copied.
func (w *world) arrive(request ipconfig.Request) {
	w.t.Helper()
	w.node.deployments = append(w.node.deployments, host.Deployment{Stateroot: request.NewStateroot, Checksum: "c0"})
	old, ok := host.FirstOf(w.node.deployments, request.OldStateroot)
	require.True(w.t, ok)
	w.node.boot(request.NewStateroot, "boot-2")
	made := request.Made(operation.NameOf(old), w.now) // as lca-cli seals it
	require.NoError(w.t, operation.WriteStateroot(w.node, host.Deployment{Stateroot: request.NewStateroot, Booted: true}, made))
	w.exported = w.node.files[ipconfig.SavedObjectFile]
	delete(w.node.files, ipconfig.SavedObjectFile)
}

// newNetwork is what post-pivot brings about.
func (w *world) newNetwork() {
	w.t.Helper()
	w.address("sno", "198.51.100.10")
	w.node.doc.Routes.Running[1].NextHopAddress = "198.51.100.1"
	w.node.units[ipconfig.UnitInitMonitor] = host.UnitState{Load: "loaded", Active: "active"}
}

func (w *world) postPivotDone() {
	w.t.Helper()
	w.newNetwork()
	w.journal(ipconfig.FlowPostPivot, flow.Entry{Kind: flow.KindBegin, Total: 2}, step(flow.KindIntent, ipconfig.StepRecert, 1),
		step(flow.KindDone, ipconfig.StepRecert, 1), flow.Entry{Kind: flow.KindFinished})
}

// comeBack boots the old stateroot, with the API it left: object and status as they were.
func (w *world) comeBack(request ipconfig.Request, left *lcav1.IPConfig) {
	w.t.Helper()
	ipc := w.get()
	if ipc.Spec.Stage != left.Spec.Stage {
		ipc.Status.ValidNextStages = []lcav1.IPConfigStage{left.Spec.Stage}
		require.NoError(w.t, w.api.Status().Update(w.t.Context(), ipc))
		ipc.Spec.Stage = left.Spec.Stage
		require.NoError(w.t, w.api.Update(w.t.Context(), ipc))
	}
	ipc.Status = left.Status
	require.NoError(w.t, w.api.Status().Update(w.t.Context(), ipc))
	w.address("sno", "192.0.2.10")
	w.node.doc.Routes.Running[1].NextHopAddress = "192.0.2.1"
	w.node.boot(request.OldStateroot, "boot-3")
	w.node.files[ipconfig.SavedObjectFile] = w.exported
}

// requireLast checks the newest condition, which the columns State and Details show.
func requireLast(t testing.TB, ipc *lcav1.IPConfig, kind string, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	require.NotEmpty(t, ipc.Status.Conditions)
	c := ipc.Status.Conditions[len(ipc.Status.Conditions)-1]
	require.Equal(t, []string{kind, string(status), reason}, []string{c.Type, string(c.Status), c.Reason}, "%v", ipc.Status.Conditions)
	require.Contains(t, c.Message, message)
}

func condition(ipc *lcav1.IPConfig, kind string) *metav1.Condition {
	for i := range ipc.Status.Conditions {
		if ipc.Status.Conditions[i].Type == kind {
			return &ipc.Status.Conditions[i]
		}
	}
	return nil
}
