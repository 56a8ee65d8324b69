package netenactment

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

var shared = apitest.New(apitest.Options{
	CRDs: []string{apitest.Nmstate}, AddToScheme: []func(*runtime.Scheme) error{nmstatev1.AddToScheme, nmstatev1beta1.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

const (
	mtu1400 = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1400}]}`
	mtu1300 = `{"interfaces":[{"name":"br-ex","type":"ovs-interface","state":"up","mtu":1300}]}`
	badGate = `{"routes":{"config":[{"destination":"0.0.0.0/0","next-hop-interface":"br-ex","next-hop-address":"192.0.2.1","state":"absent"},` +
		`{"destination":"0.0.0.0/0","next-hop-interface":"br-ex","next-hop-address":"203.0.113.1","metric":48}]}}`
)

// network joins the fake node's ports.
type network struct {
	host.Network
	host.NetworkWatch
}

// world is a node of a real API server: the reconciler over the fake node, driven pass by pass.
type world struct {
	t      *testing.T
	server *apitest.Server
	node   *hosttest.Node
	now    time.Time
	r      *Reconciler
	name   string
}

type clock struct{ w *world }

func (c clock) Now() time.Time { return c.w.now }

func (c clock) Sleep(ctx context.Context, d time.Duration) error {
	c.w.now = c.w.now.Add(d)
	return ctx.Err()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, server: shared.ServerOrMemory(t), node: hosttest.NewNode(hosttest.Options{}),
		now: time.Now().Truncate(time.Second), name: "node-a"}
	first, err := netstate.Decode([]byte(strings.ReplaceAll(mtu1400, "1400", "1500")))
	require.NoError(t, err)
	require.NoError(t, w.node.Network().Apply(t.Context(), first, nil))
	w.node.Command("lca-cli network enact", func(ctx context.Context, _ []string) error {
		err := netpolicy.Run(ctx, netpolicy.Ports{Node: w.node.Ports(), Clock: clock{w}, Log: slog.New(slog.DiscardHandler)}, operation.Instruments{})
		if errors.Is(err, netpolicy.ErrNoRequest) {
			return nil
		}
		return err
	})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name, Labels: map[string]string{"rack": "a"}}}
	require.NoError(t, w.server.Client.Create(t.Context(), node))
	m, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	w.r = w.reconciler(m)
	t.Cleanup(w.clean)
	return w
}

func (w *world) reconciler(m *Metrics) *Reconciler {
	return &Reconciler{
		Client: w.server.Client, Cache: w.server.Client, Reader: w.server.Client, Log: slog.New(slog.DiscardHandler), NodeName: w.name,
		Node: Node{Files: w.node.Files(), Units: w.node.Units(), Transients: w.node.Transients(),
			Network: network{w.node.Network(), w.node.NetworkWatch()}, Deployments: w.node.Deployments(), Trials: w.node.NetworkTrials()},
		Metrics: m, Version: "test", Now: func() time.Time { return w.now }, Random: func() uint16 { return uint16(w.now.UnixNano() >> 20) },
	}
}

func (w *world) clean() {
	ctx := context.Background()
	for _, o := range []client.Object{&nmstatev1.NodeNetworkConfigurationPolicy{}, &nmstatev1beta1.NodeNetworkConfigurationEnactment{}, &corev1.Node{}} {
		require.NoError(w.t, w.server.Client.DeleteAllOf(ctx, o))
	}
}

// pass reconciles once, runs what it started to its end, and lets time go by.
func (w *world) pass() reconcile.Result {
	w.t.Helper()
	var result reconcile.Result
	require.NoError(w.t, w.node.Run(w.t.Context(), func(ctx context.Context) (err error) {
		result, err = w.r.Reconcile(ctx, reconcile.Request{})
		return err
	}))
	require.NoError(w.t, w.node.Settle(w.t.Context(), 1))
	w.now = w.now.Add(time.Second)
	return result
}

func (w *world) passes(n int) {
	w.t.Helper()
	for range n {
		w.pass()
	}
}

func (w *world) policy(name, document string, edit func(*nmstatev1.NodeNetworkConfigurationPolicySpec)) *nmstatev1.NodeNetworkConfigurationPolicy {
	w.t.Helper()
	p := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: nmstatev1.NodeNetworkConfigurationPolicySpec{DesiredState: &runtime.RawExtension{Raw: []byte(document)}}}
	if edit != nil {
		edit(&p.Spec)
	}
	require.NoError(w.t, w.server.Client.Create(w.t.Context(), p))
	return p
}

func (w *world) edit(p *nmstatev1.NodeNetworkConfigurationPolicy, document string) {
	w.t.Helper()
	require.NoError(w.t, w.server.Client.Get(w.t.Context(), client.ObjectKeyFromObject(p), p))
	p.Spec.DesiredState = &runtime.RawExtension{Raw: []byte(document)}
	require.NoError(w.t, w.server.Client.Update(w.t.Context(), p))
}

// grant is what the operator does.
func (w *world) grant(p *nmstatev1.NodeNetworkConfigurationPolicy) {
	w.t.Helper()
	require.NoError(w.t, w.server.Client.Get(w.t.Context(), client.ObjectKeyFromObject(p), p))
	e := w.enactment(p.Name)
	require.NotNil(w.t, e)
	if e.Annotations == nil {
		e.Annotations = map[string]string{}
	}
	e.Annotations[nmstatev1beta1.GrantAnnotation] = nmstatev1beta1.Grant(p)
	require.NoError(w.t, w.server.Client.Update(w.t.Context(), e))
}

// enactment of a policy on the node; nil where there is none.
func (w *world) enactment(policy string) *nmstatev1beta1.NodeNetworkConfigurationEnactment {
	w.t.Helper()
	e := &nmstatev1beta1.NodeNetworkConfigurationEnactment{}
	err := w.server.Client.Get(w.t.Context(), client.ObjectKey{Name: nmstatev1beta1.EnactmentName(w.name, policy)}, e)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	require.NoError(w.t, err)
	return e
}

func (w *world) state(policy string) condition.State {
	w.t.Helper()
	e := w.enactment(policy)
	if e == nil {
		return "none"
	}
	s, _ := condition.Of(e.Status.Conditions)
	return s
}

// mtu of the node's bridge now.
func (w *world) mtu() int {
	w.t.Helper()
	d, err := w.node.Network().Observe(w.t.Context())
	require.NoError(w.t, err)
	i, ok := d.Find("br-ex", netstate.TypeOVSInterface)
	require.True(w.t, ok)
	return i.MTU
}

func netpolicyRecord(w *world) record.Store { return record.Store{Files: w.node.Files()} }
