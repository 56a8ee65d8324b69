package ipam

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{
	CRDs:        []string{"ipam.*.yaml", apitest.CAPIClaims},
	AddToScheme: []func(*runtime.Scheme) error{metal3.AddToScheme, capi.AddToScheme, lockv1.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// deadline is generous: the machine may be busy with everything else.
const (
	deadline = 2 * time.Minute
	tick     = 25 * time.Millisecond
)

var worlds atomic.Int64

// world is a namespace and a network of its own on the API server, and the replicas at work in it.
type world struct {
	t         testing.TB
	api       client.Client
	server    *apitest.Server
	namespace string
	network   string
	// contract is the version of the Cluster API's kinds.
	contract string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, shared, capi.GroupVersion.Version)
}

// newWorldOn is newWorld on a server that serves the Cluster API's kinds in that version.
func newWorldOn(t testing.TB, on *apitest.Shared, contract string) *world {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	s := on.Server(t)
	name := fmt.Sprintf("ipam-%d", worlds.Add(1))
	quick := rest.CopyConfig(s.Config)
	quick.QPS = -1
	api, err := client.New(quick, client.Options{Scheme: s.Scheme})
	require.NoError(t, err)
	w := &world{t: t, api: api, server: s, namespace: name, network: name, contract: contract}
	require.NoError(t, s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	return w
}

// replica is one running operator.
type replica struct {
	*Reconciler
	stop   func()
	writes atomic.Int64 // attempts
	done   atomic.Int64 // of those, what changed something
	// fail, if set, is asked before each write.
	fail atomic.Pointer[func(verb string, o client.Object) error]
	mu   sync.Mutex
	said []string
}

// start runs a replica until the test ends or it is stopped.
func (w *world) start(options ...func(*ctrl.Options)) *replica {
	w.t.Helper()
	r := &replica{}
	configuration := rest.CopyConfig(w.server.Config)
	configuration.QPS, configuration.Burst = ClientQPS, ClientBurst
	yes := true
	o := ctrl.Options{
		Scheme: w.server.Scheme, Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}, DefaultTransform: cache.TransformStripManagedFields()},
		NewClient: func(c *rest.Config, o client.Options) (client.Client, error) {
			base, err := client.NewWithWatch(c, o)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(base, r.counted()), nil
		},
	}
	for _, change := range options {
		change(&o)
	}
	mgr, err := ctrl.NewManager(configuration, o)
	require.NoError(w.t, err)
	metrics, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(w.t, err)
	r.Reconciler = New(Options{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Events: r, Log: slog.New(slog.DiscardHandler),
		Metrics: metrics, Now: time.Now, Contract: w.contract})
	require.NoError(w.t, r.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	r.stop = sync.OnceFunc(func() { cancel(); done.Wait() })
	w.t.Cleanup(r.stop)
	return r
}

// Eventf records events.
func (r *replica) Eventf(_ runtime.Object, _ runtime.Object, severity, reason, _, _ string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf("%s %s: %s", severity, reason, args[0]))
}

func (r *replica) events() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.said...)
}

func (r *replica) count(err error) error {
	if err == nil {
		r.done.Add(1)
	}
	return err
}

// counted counts writes, and lets them fail.
func (r *replica) counted() interceptor.Funcs {
	before := func(verb string, o client.Object) error {
		r.writes.Add(1)
		if fail := r.fail.Load(); fail != nil {
			return (*fail)(verb, o)
		}
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := before("create", o); err != nil {
				return err
			}
			return r.count(c.Create(ctx, o, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := before("update", o); err != nil {
				return err
			}
			return r.count(c.Update(ctx, o, opts...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := before("patch", o); err != nil {
				return err
			}
			return r.count(c.Patch(ctx, o, p, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := before("delete", o); err != nil {
				return err
			}
			return r.count(c.Delete(ctx, o, opts...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := before("status", o); err != nil {
				return err
			}
			return r.count(c.SubResource(sub).Patch(ctx, o, p, opts...))
		},
	}
}

func (w *world) eventually(holds func() bool, why ...any) {
	w.t.Helper()
	require.Eventually(w.t, holds, deadline, tick, why...)
}

// pool makes a pool on the world's network.
func (w *world) pool(name string, change func(*metal3.IPPoolSpec)) *metal3.IPPool {
	w.t.Helper()
	p := &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: metal3.IPPoolSpec{NamePrefix: name, Network: w.network, Prefix: 24}}
	change(&p.Spec)
	require.NoError(w.t, w.api.Create(w.t.Context(), p))
	return p
}

// between is a pool of the addresses 192.0.2.first to 192.0.2.last.
func between(first, last int) func(*metal3.IPPoolSpec) {
	return func(s *metal3.IPPoolSpec) { s.Pools = append(s.Pools, span(first, last)) }
}

func span(first, last int) metal3.Pool {
	a, b := metal3.IPAddressStr(fmt.Sprintf("192.0.2.%d", first)), metal3.IPAddressStr(fmt.Sprintf("192.0.2.%d", last))
	return metal3.Pool{Start: &a, End: &b}
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// claim makes an IPClaim.
func (w *world) claim(name, pool string, change ...func(*metal3.IPClaim)) *metal3.IPClaim {
	w.t.Helper()
	c := &metal3.IPClaim{ObjectMeta: w.meta(name), Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: pool}}}
	for _, f := range change {
		f(c)
	}
	require.NoError(w.t, w.api.Create(w.t.Context(), c))
	return c
}

// contractClaim makes an IPAddressClaim of the Cluster API.
func (w *world) contractClaim(name, pool string, change ...func(*capi.IPAddressClaim)) *capi.IPAddressClaim {
	w.t.Helper()
	c := &capi.IPAddressClaim{ObjectMeta: w.meta(name), Spec: capi.IPAddressClaimSpec{
		PoolRef: capi.IPPoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Name: pool}}}
	for _, f := range change {
		f(c)
	}
	require.NoError(w.t, w.api.Create(w.t.Context(), c))
	return c
}

// address waits for the address of a claim.
func (w *world) address(name string) string {
	w.t.Helper()
	var got string
	w.eventually(func() bool { got = w.addressNow(name); return got != "" }, "IPClaim %s gets an address", name)
	return got
}

func (w *world) addressNow(name string) string {
	c := &metal3.IPClaim{}
	if w.get(name, c) != nil || c.Status.Address == nil {
		return ""
	}
	a := &metal3.IPAddress{}
	if w.get(c.Status.Address.Name, a) != nil {
		return ""
	}
	return string(a.Spec.Address)
}

// contractAddress waits for the address of a Cluster API claim.
func (w *world) contractAddress(name string) string {
	w.t.Helper()
	a := &capi.IPAddress{}
	w.eventually(func() bool {
		c := &capi.IPAddressClaim{}
		return w.get(name, c) == nil && c.Status.AddressRef.Name != "" && w.get(c.Status.AddressRef.Name, a) == nil
	}, "IPAddressClaim %s gets an address", name)
	return a.Spec.Address
}

func (w *world) get(name string, o client.Object) error {
	return w.api.Get(context.Background(), types.NamespacedName{Namespace: w.namespace, Name: name}, o)
}

// reason waits until an IPClaim says why it has no address.
func (w *world) reason(name, reason string) string {
	w.t.Helper()
	c := &metal3.IPClaim{}
	w.eventually(func() bool {
		return w.get(name, c) == nil && len(c.Status.Conditions) == 1 && c.Status.Conditions[0].Reason == reason
	}, "IPClaim %s says %s", name, reason)
	return c.Status.Conditions[0].Message
}

// poolReason waits until a pool says how it is.
func (w *world) poolReason(name, reason string) string {
	w.t.Helper()
	p := &metal3.IPPool{}
	var ready *metav1.Condition
	w.eventually(func() bool {
		if w.get(name, p) != nil {
			return false
		}
		ready = apimeta.FindStatusCondition(p.Status.Conditions, metal3.ConditionReady)
		return ready != nil && ready.Reason == reason
	}, "IPPool %s says %s", name, reason)
	return ready.Message
}

// delete deletes an object and waits until it is gone.
func (w *world) delete(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, client.IgnoreNotFound(w.api.Delete(w.t.Context(), o)))
	w.eventually(func() bool {
		return apierrors.IsNotFound(w.api.Get(context.Background(), client.ObjectKeyFromObject(o), o))
	}, "%s goes", o.GetName())
}

// locks are the locks on the world's network.
func (w *world) locks() (out []lockv1.AddressLock) {
	list := &lockv1.AddressLockList{}
	require.NoError(w.t, w.api.List(context.Background(), list))
	for _, l := range list.Items {
		if l.Spec.Network == w.network {
			out = append(out, l)
		}
	}
	return out
}

func (w *world) noLocks() {
	w.t.Helper()
	w.eventually(func() bool { return len(w.locks()) == 0 }, "every lock is gone")
}

// change edits an object as it is now.
func change[T client.Object](w *world, o T, edit func(T)) {
	w.t.Helper()
	w.eventually(func() bool {
		if err := w.api.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
			return false
		}
		edit(o)
		return w.api.Update(context.Background(), o) == nil
	}, "%s can be edited", o.GetName())
}

// given are the lock and the address object of a claim that was served.
func given(w *world, pool *metal3.IPPool, c *metal3.IPClaim, address string) (*lockv1.AddressLock, *metal3.IPAddress) {
	o := &metal3.IPAddress{ObjectMeta: w.meta("p-" + strings.ReplaceAll(address, ".", "-")), Spec: metal3.IPAddressSpec{Prefix: 12, Address: metal3.IPAddressStr(address),
		Claim: metal3.ObjectReference{Name: c.Name}, Pool: metal3.ObjectReference{Name: pool.Name}}}
	lock := &lockv1.AddressLock{Spec: lockv1.AddressLockSpec{Network: w.network, Address: address, State: lockv1.LockHeld, AddressName: o.Name,
		Pool:  lockv1.PoolReference{Namespace: w.namespace, Name: pool.Name},
		Claim: &lockv1.ClaimReference{APIGroup: metal3.GroupVersion.Group, Kind: "IPClaim", Namespace: w.namespace, Name: c.Name, UID: c.UID}}}
	lock.Name = lockv1.LockName(w.network, addressOf(lock))
	return lock, o
}
