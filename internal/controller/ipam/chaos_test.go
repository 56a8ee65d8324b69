package ipam

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// gate holds all writes of a replica while it is shut: the replica has decided, on what it knew, and acts on that
// when the gate opens, however old that is by then.
type gate struct {
	shut chan struct{}
	held atomic.Int64
}

func (g *gate) pass(string, client.Object) error {
	g.held.Add(1)
	<-g.shut
	return nil
}

// trouble lets writes fail: some are refused, some are done and reported as failed by the caller's connection.
func trouble(seed uint64, every int) func(string, client.Object) error {
	dice := rand.New(rand.NewPCG(seed, 7))
	turn := make(chan struct{}, 1)
	return func(verb string, o client.Object) error {
		turn <- struct{}{}
		n := dice.IntN(every)
		<-turn
		switch n {
		case 0:
			return apierrors.NewInternalError(fmt.Errorf("injected on %s", verb))
		case 1:
			return apierrors.NewConflict(schema.GroupResource{Resource: "injected"}, o.GetName(), fmt.Errorf("injected"))
		}
		return nil
	}
}

// Two replicas. One is stopped in the middle of what it does, sees nothing of what the other does meanwhile (claims
// are served, deleted, made again, their addresses given to others), and goes on with its stale decisions. Each
// sixth write of either fails. In the end nothing is allocated twice and nothing is lost.
func TestChaos(t *testing.T) { newWorld(t).chaos() }

// The same, while Kubernetes' own garbage collector deletes what belongs to claims that are gone.
func TestChaosWithTheGarbageCollector(t *testing.T) {
	w := newWorld(t)
	w.server.StartGarbageCollector(t)
	w.chaos()
}

func (w *world) chaos() {
	w.pool("p", between(1, 120))
	w.pool("q", between(60, 180)) // half of p's addresses
	a, b := w.start(), w.start()
	g := &gate{shut: make(chan struct{})}
	halt := g.pass
	b.fail.Store(&halt)
	fail := trouble(1, 12)
	a.fail.Store(&fail)
	make := func(round, n int) {
		for i := range n {
			w.claim(fmt.Sprintf("c%d-%d", round, i), []string{"p", "q"}[i%2])
			w.contractClaim(fmt.Sprintf("c%d-%d", round, i), []string{"q", "p"}[i%2])
		}
	}
	served := func(round, n int) {
		for i := range n {
			w.address(fmt.Sprintf("c%d-%d", round, i))
			w.contractAddress(fmt.Sprintf("c%d-%d", round, i))
		}
	}
	make(0, 20)
	w.eventually(func() bool { return g.held.Load() > 0 }, "the paused replica is in the middle of something")
	served(0, 20)
	for i := range 10 { // what the paused replica wants to serve is gone, or is somebody else by now
		w.delete(&metal3.IPClaim{ObjectMeta: w.meta(fmt.Sprintf("c0-%d", i))})
		w.delete(&capi.IPAddressClaim{ObjectMeta: w.meta(fmt.Sprintf("c0-%d", i))})
	}
	make(1, 10)
	for i := range 5 {
		w.claim(fmt.Sprintf("c0-%d", i), "p")
	}
	served(1, 10)
	again := trouble(2, 12)
	b.fail.Store(&again)
	close(g.shut)
	make(2, 10)
	for i := range 5 {
		w.delete(&metal3.IPClaim{ObjectMeta: w.meta(fmt.Sprintf("c1-%d", i))})
	}
	served(2, 10)
	a.fail.Store(nil)
	b.fail.Store(nil)
	var problems []string
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		if problems = w.audit(); len(problems) == 0 {
			break
		}
	}
	require.Empty(w.t, problems, "in the end all is in order")
}

// audit compares claims, address objects and locks. It asks the API.
func (w *world) audit() (problems []string) {
	locks := map[string]lockv1.AddressLock{}
	for _, l := range w.locks() {
		locks[l.Spec.Address] = l
	}
	held := map[string]string{}
	hold := func(address, owner string) {
		if other := held[address]; other != "" {
			problems = append(problems, address+" belongs to "+other+" and "+owner)
		}
		held[address] = owner
		if l, ok := locks[address]; !ok || keyOf(l.Spec.Claim).String() != owner {
			problems = append(problems, address+" of "+owner+" is not locked for it")
		}
	}
	natives, contracts := &metal3.IPClaimList{}, &capi.IPAddressClaimList{}
	require.NoError(w.t, w.api.List(w.t.Context(), natives, client.InNamespace(w.namespace)))
	require.NoError(w.t, w.api.List(w.t.Context(), contracts, client.InNamespace(w.namespace)))
	for _, c := range natives.Items {
		hold(w.addressNow(c.Name), "IPClaim "+w.namespace+"/"+c.Name)
	}
	for _, c := range contracts.Items {
		o := &capi.IPAddress{}
		if c.Status.AddressRef.Name == "" || w.get(c.Status.AddressRef.Name, o) != nil {
			problems = append(problems, "IPAddressClaim "+c.Name+" has no address")
			continue
		}
		hold(o.Spec.Address, "IPAddressClaim "+w.namespace+"/"+c.Name)
	}
	nativeObjects, contractObjects := &metal3.IPAddressList{}, &capi.IPAddressList{}
	require.NoError(w.t, w.api.List(w.t.Context(), nativeObjects, client.InNamespace(w.namespace)))
	require.NoError(w.t, w.api.List(w.t.Context(), contractObjects, client.InNamespace(w.namespace)))
	claims, objects := len(natives.Items)+len(contracts.Items), len(nativeObjects.Items)+len(contractObjects.Items)
	if claims != objects || claims != len(locks) {
		problems = append(problems, fmt.Sprintf("%d claims, %d address objects, %d locks", claims, objects, len(locks)))
	}
	return problems
}
