//go:build bench

package netbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netenactment"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/nodenetwork"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	domain "github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// fleet is an operator and the agents of many nodes. Controllers, caches and API server are real; the nodes are not.
type fleet struct {
	t      *testing.T
	api    client.Client
	server *apitest.Server
	size   int
	counts counts
}

// counts are the requests that write.
type counts struct{ agents, operator writes }

func (c *counts) reset() { c.agents.take(); c.operator.take() }

// writes are counted by what is written.
type writes struct {
	mu     sync.Mutex
	byKind map[string]int
}

func (w *writes) add(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKind == nil {
		w.byKind = map[string]int{}
	}
	w.byKind[kind]++
}

// take returns what was counted, and begins anew.
func (w *writes) take() (all int, byKind map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	byKind, w.byKind = w.byKind, nil
	for _, n := range byKind {
		all += n
	}
	return all, byKind
}

// counted is a way to the API server that counts writes.
type counted struct {
	http.RoundTripper
	into *writes
}

func (c counted) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet && q.Method != http.MethodHead {
		c.into.add(q.Method + " " + written(q.URL.Path))
	}
	return c.RoundTripper.RoundTrip(q)
}

// written is the kind in a path of the API, with its subresource: /apis/GROUP/VERSION/KIND/NAME/SUBRESOURCE.
func written(urlPath string) string {
	parts := strings.Split(strings.Trim(urlPath, "/"), "/")
	switch {
	case len(parts) > 5:
		return parts[3] + "/" + parts[5]
	case len(parts) > 3:
		return parts[3]
	}
	return urlPath
}

func newFleet(t *testing.T, size int) *fleet {
	f := &fleet{t: t, server: shared.Server(t), size: size}
	f.api = f.server.Client
	for i := range size {
		f.addNode(nodeName(i))
	}
	f.operate()
	agents := f.manager(&f.counts.agents)
	for i := range size {
		f.agent(agents, nodeName(i))
	}
	f.run(agents)
	f.rests()
	return f
}

// rests waits until the network of every node is published: its agent's caches are full then, so that its start is not measured.
func (f *fleet) rests() {
	f.t.Helper()
	published := func() int {
		var states metav1.PartialObjectMetadataList
		states.SetGroupVersionKind(nmstatev1beta1.GroupVersion.WithKind("NodeNetworkStateList"))
		require.NoError(f.t, f.api.List(f.t.Context(), &states))
		return len(states.Items)
	}
	f.until("published", f.size, published)
}

const (
	// patience is how long a measurement may take.
	patience = 2 * time.Hour
	// reportEvery is how often a long one says how far it is, on stderr.
	reportEvery = 30 * time.Second
)

// until waits for a count, and says now and then how far it is.
func (f *fleet) until(what string, want int, count func() int) {
	f.t.Helper()
	began := time.Now()
	for last := began; ; time.Sleep(100 * time.Millisecond) {
		have := count()
		if have == want {
			return
		}
		require.Less(f.t, time.Since(began), patience, "%s: %d of %d", what, have, want)
		if time.Since(last) >= reportEvery {
			last = time.Now()
			fmt.Fprintf(os.Stderr, "%s: %d of %d after %s\n", what, have, want, time.Since(began).Round(time.Second))
		}
	}
}

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }

func key(name string) client.ObjectKey { return client.ObjectKey{Name: name} }

func (f *fleet) addNode(name string) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(f.t, f.api.Create(f.t.Context(), n))
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	require.NoError(f.t, f.api.Status().Update(f.t.Context(), n))
}

func (f *fleet) manager(into *writes) ctrl.Manager {
	c := rest.CopyConfig(f.server.Config)
	c.QPS = -1
	c.Wrap(func(rt http.RoundTripper) http.RoundTripper { return counted{rt, into} })
	yes := true
	mgr, err := ctrl.NewManager(c, ctrl.Options{Scheme: f.server.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes, CacheSyncTimeout: time.Hour}})
	require.NoError(f.t, err)
	return mgr
}

func (f *fleet) run(mgr ctrl.Manager) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := mgr.Start(ctx); err != nil {
			f.t.Errorf("a manager ended: %v", err)
		}
	})
	f.t.Cleanup(func() { cancel(); done.Wait() })
}

func (f *fleet) operate() {
	mgr := f.manager(&f.counts.operator)
	m, err := netpolicy.NewMetrics(prometheus.NewRegistry())
	require.NoError(f.t, err)
	r := netpolicy.New(netpolicy.Options{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: &events.FakeRecorder{},
		Log: slog.New(slog.DiscardHandler), Metrics: m, Now: time.Now})
	require.NoError(f.t, r.SetupWithManager(mgr))
	f.run(mgr)
}

// agent sets up what runs on one node: the publisher of its network, and the controller of enactments.
func (f *fleet) agent(mgr ctrl.Manager, name string) {
	quiet := slog.New(slog.DiscardHandler)
	own, err := caches.Own(mgr, name)
	require.NoError(f.t, err)
	node := newNode(quiet)
	p := &nodenetwork.Publisher{Client: mgr.GetClient(), Cache: own, Reader: mgr.GetAPIReader(), Log: quiet, NodeName: name,
		Network: node.Network, Version: "bench", Now: time.Now}
	require.NoError(f.t, p.SetupWithManager(mgr, own))
	r := &netenactment.Reconciler{Client: mgr.GetClient(), Cache: own, Reader: mgr.GetAPIReader(), Log: quiet, NodeName: name,
		Node: node, Version: "bench", Now: time.Now, Random: func() uint16 { return uint16(rand.Uint32()) }}
	require.NoError(f.t, r.SetupWithManager(mgr, own))
}

// newNode is a node in memory on which lca-cli carries out what the agent asks for.
func newNode(log *slog.Logger) netenactment.Node {
	n := hosttest.NewNode(hosttest.Options{})
	n.Command("lca-cli network enact", func(ctx context.Context, _ []string) error {
		err := domain.Run(ctx, domain.Ports{Node: n.Ports(), Clock: flow.SystemClock{}, Log: log}, operation.Instruments{})
		if errors.Is(err, domain.ErrNoRequest) {
			return nil
		}
		return err
	})
	return netenactment.Node{Files: n.Files(), Units: n.Units(), Transients: &launching{Transients: n.Transients(), node: n},
		Network: network{n.Network(), n.NetworkWatch()}, Deployments: n.Deployments()}
}

// network joins the ports.
type network struct {
	host.Network
	host.NetworkWatch
}

// launching runs a unit when it is launched, as systemd does.
type launching struct {
	host.Transients
	node *hosttest.Node
	one  sync.Mutex
}

func (l *launching) Launch(ctx context.Context, t host.Transient) error {
	if err := l.Transients.Launch(ctx, t); err != nil {
		return err
	}
	go func() {
		l.one.Lock()
		defer l.one.Unlock()
		_ = l.node.Settle(context.Background(), 1)
	}()
	return nil
}
