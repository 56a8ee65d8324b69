package netpolicy

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

var shared = apitest.New(apitest.Options{
	CRDs:          []string{apitest.Nmstate, "ipam.*.yaml"},
	OpenShiftCRDs: []string{"machineconfigpools.machineconfiguration.openshift.io", "machineconfigs.machineconfiguration.openshift.io"},
	AddToScheme:   []func(*runtime.Scheme) error{nmstatev1.AddToScheme, v1beta1.AddToScheme, metal3.AddToScheme, mcv1.Install},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// deadline is generous: the machine may be busy with everything else.
const (
	deadline = 2 * time.Minute
	tick     = 25 * time.Millisecond
)

var worlds atomic.Int64

// world is a set of nodes of its own on the API server, their agents, which are simulated, and the operator.
type world struct {
	t      testing.TB
	api    client.Client
	server *apitest.Server
	name   string
	agents *fleet
	events *recorder
	r      *Reconciler
}

func newWorld(t testing.TB, nodes int) *world {
	t.Helper()
	w := bareWorld(t)
	for i := range nodes {
		w.addNode(w.node(i))
	}
	w.agents = newFleet(w)
	w.start()
	return w
}

// bareWorld has neither nodes, agents nor an operator.
func bareWorld(t testing.TB) *world {
	t.Helper()
	s := shared.ServerOrMemory(t)
	var api client.Client = s.Client
	if s.Config != nil {
		quick := rest.CopyConfig(s.Config)
		quick.QPS = -1
		var err error
		api, err = client.New(quick, client.Options{Scheme: s.Scheme})
		require.NoError(t, err)
	}
	return &world{t: t, api: api, server: s, name: fmt.Sprintf("w%d", worlds.Add(1)), events: &recorder{}}
}

func (w *world) node(i int) string { return fmt.Sprintf("%s-n%d", w.name, i) }

// addNode makes a ready node that publishes its network.
func (w *world) addNode(name string) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"world": w.name, "kubernetes.io/hostname": name}}}
	require.NoError(w.t, w.api.Create(w.t.Context(), n))
	w.ready(name, true)
	state := &v1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(w.t, w.api.Create(w.t.Context(), state))
	w.t.Cleanup(func() {
		_ = w.api.Delete(context.Background(), n)
		_ = w.api.Delete(context.Background(), state)
	})
}

func (w *world) ready(name string, is bool) {
	n := &corev1.Node{}
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKey{Name: name}, n))
	before := n.DeepCopy()
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	require.NoError(w.t, w.api.Status().Patch(w.t.Context(), n, client.MergeFrom(before)))
}

// start runs the operator until the test ends.
func (w *world) start() {
	mgr := w.manager()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(w.t, err)
	w.r = New(Options{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: w.events, Log: slog.New(slog.DiscardHandler),
		Metrics: metrics, Now: time.Now})
	require.NoError(w.t, w.r.SetupWithManager(mgr))
	require.NoError(w.t, w.r.ServePools(mgr))
	require.NoError(w.t, w.r.ServeClaims(mgr))
	w.run(mgr)
}

func (w *world) manager() ctrl.Manager {
	shared.Server(w.t) // an API in memory has no watches
	quick := rest.CopyConfig(w.server.Config)
	quick.QPS = -1
	yes := true
	mgr, err := ctrl.NewManager(quick, ctrl.Options{
		Scheme: w.server.Scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes},
	})
	require.NoError(w.t, err)
	return mgr
}

func (w *world) run(mgr ctrl.Manager) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	w.t.Cleanup(func() { cancel(); done.Wait() })
}

// policy applies a policy for the nodes of the world; spec is YAML.
func (w *world) policy(name, spec string) *nmstatev1.NodeNetworkConfigurationPolicy {
	w.t.Helper()
	p := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + name}}
	require.NoError(w.t, yaml.UnmarshalStrict([]byte(spec), &p.Spec))
	if p.Spec.NodeSelector == nil && p.Spec.MachineConfigPoolSelector == nil {
		p.Spec.NodeSelector = map[string]string{"world": w.name}
	}
	require.NoError(w.t, w.api.Create(w.t.Context(), p))
	w.t.Cleanup(func() {
		p := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
		_ = w.api.Patch(context.Background(), p, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		_ = w.api.Delete(context.Background(), p)
	})
	return p
}

func (w *world) get(p *nmstatev1.NodeNetworkConfigurationPolicy) *nmstatev1.NodeNetworkConfigurationPolicy {
	now := &nmstatev1.NodeNetworkConfigurationPolicy{}
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKeyFromObject(p), now))
	return now
}

// reaches waits until the policy's True conditions and their message are these, in the present generation.
func (w *world) reaches(p *nmstatev1.NodeNetworkConfigurationPolicy, kind, message string) *nmstatev1.NodeNetworkConfigurationPolicy {
	w.t.Helper()
	var now *nmstatev1.NodeNetworkConfigurationPolicy
	w.eventually(func() bool {
		now = w.get(p)
		for _, c := range now.Status.Conditions {
			if c.Type == kind && c.Status == metav1.ConditionTrue && c.Message == message && now.Status.ObservedGeneration == now.Generation {
				return true
			}
		}
		return false
	}, func() string { return fmt.Sprintf("%s: %s; have %s", kind, message, asYAML(now.Status)) })
	return now
}

// phase waits until the roll-out waits for that.
func (w *world) phase(p *nmstatev1.NodeNetworkConfigurationPolicy, phase nmstatev1.RolloutPhase) *nmstatev1.RolloutStatus {
	w.t.Helper()
	var now *nmstatev1.NodeNetworkConfigurationPolicy
	w.eventually(func() bool {
		now = w.get(p)
		return now.Status.Rollout != nil && now.Status.Rollout.Phase == phase && now.Status.ObservedGeneration == now.Generation
	}, func() string { return fmt.Sprintf("phase %s; have %s", phase, asYAML(now.Status)) })
	return now.Status.Rollout
}

func (w *world) eventually(is func() bool, what func() string) {
	w.t.Helper()
	for end := time.Now().Add(deadline); !is(); time.Sleep(tick) {
		require.False(w.t, time.Now().After(end), "not in time: %s", what())
	}
}

// states counts the enactments of a policy by state.
func (w *world) states(p *nmstatev1.NodeNetworkConfigurationPolicy) map[condition.State]int {
	list := &v1beta1.NodeNetworkConfigurationEnactmentList{}
	require.NoError(w.t, w.api.List(w.t.Context(), list, client.MatchingLabels{nmstatev1.PolicyLabel: p.Name}))
	counts := map[condition.State]int{}
	for i := range list.Items {
		s, _ := condition.Of(list.Items[i].Status.Conditions)
		counts[s]++
	}
	return counts
}

func (w *world) annotate(p *nmstatev1.NodeNetworkConfigurationPolicy, key, value string) {
	now := w.get(p)
	before := now.DeepCopy()
	metav1.SetMetaDataAnnotation(&now.ObjectMeta, key, value)
	if value == "" {
		delete(now.Annotations, key)
	}
	require.NoError(w.t, w.api.Patch(w.t.Context(), now, client.MergeFrom(before)))
}

func asYAML(v any) string {
	text, _ := yaml.Marshal(v)
	return string(text)
}

// recorder records events.
type recorder struct {
	mu   sync.Mutex
	said []string
}

func (r *recorder) Eventf(on runtime.Object, _ runtime.Object, severity, reason, _, _ string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf("%s %s %s: %s", on.(client.Object).GetName(), severity, reason, args[0]))
}

// of lists the events on a policy, without its name.
func (r *recorder) of(p *nmstatev1.NodeNetworkConfigurationPolicy) (said []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.said {
		if len(s) > len(p.Name) && s[:len(p.Name)+1] == p.Name+" " {
			said = append(said, s[len(p.Name)+1:])
		}
	}
	return said
}
