package nodenetwork

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

var shared = apitest.New(apitest.Options{
	CRDs: []string{apitest.Nmstate}, AddToScheme: []func(*runtime.Scheme) error{nmstatev1.AddToScheme, nmstatev1beta1.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// wires is a network that changes when the test says so.
type wires struct {
	mu       sync.Mutex
	document netstate.Document
	changed  chan struct{}
	observed int
}

func (w *wires) Observe(context.Context) (netstate.Document, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observed++
	return w.document, nil
}

func (w *wires) Changes(context.Context) (<-chan struct{}, error) { return w.changed, nil }

func (w *wires) change(d netstate.Document) {
	w.mu.Lock()
	w.document = d
	w.mu.Unlock()
	w.changed <- struct{}{}
}

func one(mtu int, lifetime string) netstate.Document {
	d := Many(1)
	d.Interfaces[0].MTU = mtu
	d.Interfaces[0].IPv4.Addresses[0].ValidLifetime = lifetime
	return d
}

// start runs the publisher of a node of its own.
func start(t *testing.T, node string, w *wires) *apitest.Server {
	t.Helper()
	s := shared.Server(t)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	require.NoError(t, s.Client.Create(t.Context(), n))
	t.Cleanup(func() { require.NoError(t, s.Client.Delete(context.Background(), n)) })
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{Scheme: s.Scheme, Metrics: server.Options{BindAddress: "0"}})
	require.NoError(t, err)
	m, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	own, err := caches.Own(mgr, node)
	require.NoError(t, err)
	p := &Publisher{Client: mgr.GetClient(), Cache: own, Reader: mgr.GetAPIReader(), Log: slog.New(slog.DiscardHandler), NodeName: node,
		Network: w, Version: "test", Now: time.Now, Metrics: m}
	require.NoError(t, p.SetupWithManager(mgr, own))
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-done) })
	return s
}

func state(t *testing.T, s *apitest.Server, node string) *nmstatev1beta1.NodeNetworkState {
	t.Helper()
	nns := &nmstatev1beta1.NodeNetworkState{}
	require.NoError(t, client.IgnoreNotFound(s.Client.Get(t.Context(), client.ObjectKey{Name: node}, nns)))
	return nns
}

func mtuOf(nns *nmstatev1beta1.NodeNetworkState) int {
	if nns.Status.CurrentState == nil {
		return 0
	}
	var d struct {
		Interfaces []struct{ MTU int }
	}
	if json.Unmarshal(nns.Status.CurrentState.Raw, &d) != nil || len(d.Interfaces) == 0 {
		return 0
	}
	return d.Interfaces[0].MTU
}

func awaitMTU(t *testing.T, s *apitest.Server, node string, mtu int) time.Duration {
	t.Helper()
	began := time.Now()
	require.Eventually(t, func() bool { return mtuOf(state(t, s, node)) == mtu }, 2*time.Minute, 10*time.Millisecond)
	return time.Since(began)
}

func TestAChangeIsPublishedWithinASecond(t *testing.T) {
	w := &wires{document: one(1500, "100sec"), changed: make(chan struct{}, 1)}
	s := start(t, "publishing", w)
	awaitMTU(t, s, "publishing", 1500)
	nns := state(t, s, "publishing")
	require.Equal(t, "Node", nns.OwnerReferences[0].Kind)
	require.Equal(t, "test", nns.Status.HandlerNmstateVersion)

	w.change(one(9000, "100sec"))
	took := awaitMTU(t, s, "publishing", 9000)
	t.Logf("a change is published after %s", took.Round(time.Millisecond))

	before, seen := state(t, s, "publishing"), w.count()
	for n := range 5 {
		w.change(one(9000, time.Duration(n).String()))
		require.Eventually(t, func() bool { return w.count() > seen+n }, 2*time.Minute, 5*time.Millisecond, "it is observed")
	}
	require.Equal(t, before.ResourceVersion, state(t, s, "publishing").ResourceVersion, "a lifetime is no change")
	require.Equal(t, before.Status.LastSuccessfulUpdateTime, state(t, s, "publishing").Status.LastSuccessfulUpdateTime)

	require.NoError(t, s.Client.Delete(t.Context(), before))
	awaitMTU(t, s, "publishing", 9000)
	patch := []byte(`{"metadata":{"labels":{"` + nmstatev1.ForceRefreshLabel + `":"1"}}}`)
	w.mu.Lock()
	w.document = one(1400, "")
	w.mu.Unlock()
	require.NoError(t, s.Client.Patch(t.Context(), state(t, s, "publishing"), client.RawPatch(types.MergePatchType, patch)))
	awaitMTU(t, s, "publishing", 1400)
	require.NoError(t, s.Client.Status().Patch(t.Context(), state(t, s, "publishing"),
		client.RawPatch(types.MergePatchType, []byte(`{"status":{"currentState":null}}`))))
	w.change(one(1400, ""))
	awaitMTU(t, s, "publishing", 1400)
}

func (w *wires) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.observed
}

func TestTwoThousandInterfacesArePublished(t *testing.T) {
	w := &wires{document: Many(2000), changed: make(chan struct{}, 1)}
	s := start(t, "large", w)
	awaitMTU(t, s, "large", 1500)
	d := Many(2000)
	d.Interfaces[0].MTU = 1400
	w.change(d)
	took := awaitMTU(t, s, "large", 1400)
	t.Logf("a change among 2,000 interfaces is published after %s", took.Round(time.Millisecond))
}

// TestARestartWritesNothing: the publisher compares with what another process published.
func TestARestartWritesNothing(t *testing.T) {
	first := &wires{document: one(1500, ""), changed: make(chan struct{}, 1)}
	s := start(t, "restarted", first)
	awaitMTU(t, s, "restarted", 1500)
	before := state(t, s, "restarted")
	p := &Publisher{Client: s.Client, Cache: s.Client, Reader: s.Client, Log: slog.New(slog.DiscardHandler), NodeName: "restarted",
		Network: first, Version: "test", Now: time.Now}
	_, err := p.Reconcile(t.Context(), ctrl.Request{})
	require.NoError(t, err)
	require.Equal(t, before.ResourceVersion, state(t, s, "restarted").ResourceVersion)
}
