package hostnet

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// requests counts what an operator asks the API server for, watches aside.
type requests struct {
	mu   sync.Mutex
	n    map[string]int // by method and the last part of the path that is no name
	last time.Time
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper { return &counting{r, next} }

type counting struct {
	*requests
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Query().Get("watch") == "" {
		c.mu.Lock()
		if c.n == nil {
			c.n = map[string]int{}
		}
		c.n[q.Method+" "+resourceOf(q.URL.Path)]++
		c.last = time.Now()
		c.mu.Unlock()
	}
	return c.next.RoundTrip(q) // it stands for the one that it wraps
}

// resourceOf is the resource in a path such as /apis/group/version/namespaces/ns/resource/name.
func resourceOf(path string) string {
	_, rest, found := strings.Cut(path, "/namespaces/")
	parts := strings.Split(rest, "/")
	if !found || len(parts) < 2 {
		return path
	}
	return parts[1]
}

// during counts the requests until a condition holds and then none has come for a while.
func (w *world) during(do func(), holds func() bool, why string) map[string]int {
	w.t.Helper()
	before := w.requests.snapshot()
	do()
	w.eventually(holds, why)
	w.quiet()
	return difference(before, w.requests.snapshot())
}

// restAfter is how long an operator is without requests that is at rest.
const restAfter = 3 * time.Second

// quiet waits until no request has come for a while.
func (w *world) quiet() {
	w.t.Helper()
	w.eventually(func() bool {
		w.requests.mu.Lock()
		defer w.requests.mu.Unlock()
		return time.Since(w.requests.last) > restAfter
	}, "the operator comes to rest")
}

func (r *requests) snapshot() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.n)
}

func difference(before, after map[string]int) map[string]int {
	out := map[string]int{}
	for key, n := range after {
		if n -= before[key]; n > 0 {
			out[key] = n
		}
	}
	return out
}

func sum(n map[string]int) (all int) {
	for v := range maps.Values(n) {
		all += v
	}
	return all
}

// fleet is a namespace with machines on hosts.
type fleet struct {
	*world
	namespace string
}

func (f *fleet) name(kind string, i int) string { return fmt.Sprintf("%s-%d", kind, i) }

// member makes a host and the machine that it serves.
func (f *fleet) member(i int) error {
	h := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"consumerRef": map[string]any{"apiVersion": machineKind.GroupVersion().String(), "kind": machineKind.Kind,
			"name": f.name("m", i), "namespace": f.namespace}},
		"status": map[string]any{"provisioning": map[string]any{"state": "available"}, "poweredOn": false}}}
	m := &unstructured.Unstructured{Object: map[string]any{}}
	m.SetAnnotations(map[string]string{NetworksAnnotation: "ens4=fleet"})
	h.SetGroupVersionKind(HostKind())
	m.SetGroupVersionKind(machineKind)
	h.SetName(f.name("h", i))
	m.SetName(f.name("m", i))
	for _, o := range []*unstructured.Unstructured{h, m} {
		o.SetNamespace(f.namespace)
		if err := f.api.Create(f.t.Context(), o); err != nil {
			return fmt.Errorf("create %s: %w", o.GetName(), err)
		}
	}
	return nil
}

// configured says that so many machines have their configs.
func (f *fleet) configured(n int) bool {
	list := &corev1.SecretList{}
	if f.api.List(f.t.Context(), list, client.InNamespace(f.namespace)) != nil {
		return false
	}
	return len(list.Items) >= n
}

func newFleet(t *testing.T, n int) *fleet {
	t.Helper()
	f := &fleet{world: newWorld(t), namespace: fmt.Sprintf("fleet-%d", n)}
	f.pool = f.namespace // the network
	require.NoError(t, f.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}))
	subnet := metal3.IPSubnetStr("10.20.0.0/16")
	require.NoError(t, f.api.Create(t.Context(), &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "fleet"},
		Spec: metal3.IPPoolSpec{NamePrefix: "fleet", Network: f.pool, Prefix: 16, Pools: []metal3.Pool{{Subnet: &subnet}}}}))
	t.Cleanup(f.disband)
	errs, members := make(chan error, n), make(chan int)
	for range 8 {
		go func() {
			for i := range members {
				errs <- f.member(i)
			}
		}()
	}
	go func() {
		for i := range n {
			members <- i
		}
		close(members)
	}()
	for range n {
		require.NoError(t, <-errs)
	}
	f.eventually(func() bool { return f.configured(n) }, "all have their configs")
	f.quiet()
	return f
}

// disband deletes all, so that later tests do not have to do with it.
func (f *fleet) disband() {
	for _, kind := range []*unstructured.Unstructured{newObject(HostKind()), newObject(machineKind)} {
		require.NoError(f.t, f.api.DeleteAllOf(context.Background(), kind, client.InNamespace(f.namespace)))
	}
	f.eventually(func() bool { return len(f.locks()) == 0 }, "all addresses are free")
}

// costs are the requests for one event of one host, for one that changes nothing that is read, and for one more machine with its host.
func costs(t *testing.T, n int) (event, heartbeat, machine map[string]int) {
	t.Helper()
	f := newFleet(t, n)
	h, m := newObject(HostKind()), newObject(machineKind)
	require.NoError(t, f.api.Get(t.Context(), types.NamespacedName{Namespace: f.namespace, Name: f.name("h", 0)}, h))
	event = f.during(func() { f.patch(h, `{"status":{"provisioning":{"state":"provisioned"}}}`) }, func() bool {
		err := f.api.Get(t.Context(), types.NamespacedName{Namespace: f.namespace, Name: f.name("m", 0)}, m)
		conditions, _, _ := unstructured.NestedSlice(m.Object, "status", "conditions")
		return err == nil && len(conditions) == 1
	}, "the machine of the host follows")
	heartbeat = f.during(func() { f.patch(h, `{"status":{"poweredOn":true}}`) }, func() bool { return true }, "")
	machine = f.during(func() { require.NoError(t, f.member(n)) }, func() bool { return f.configured(n + 1) }, "the new machine has its config")
	return event, heartbeat, machine
}

// What one host costs does not depend on how many others there are.
func TestRequestsForAHostDoNotGrowWithTheHosts(t *testing.T) {
	const few, many = 20, 100
	// How often a status is written again, or a read is repeated, depends on how busy the machine is.
	const slack = 8
	var event, heartbeat, machine, eventOfMany, heartbeatOfMany, machineOfMany map[string]int
	// Each with an operator of its own, which ends before the next.
	t.Run("few", func(t *testing.T) { event, heartbeat, machine = costs(t, few) })
	t.Run("many", func(t *testing.T) { eventOfMany, heartbeatOfMany, machineOfMany = costs(t, many) })
	t.Logf("an event: %v among %d, %v among %d", event, few, eventOfMany, many)
	t.Logf("a machine: %v among %d, %v among %d", machine, few, machineOfMany, many)
	require.LessOrEqual(t, sum(eventOfMany), sum(event)+slack)
	require.LessOrEqual(t, sum(machineOfMany), sum(machine)+slack)
	require.Less(t, sum(eventOfMany), few, "it concerns one host, not each of %d", few)
	for _, n := range []map[string]int{heartbeat, heartbeatOfMany} {
		require.Empty(t, slices.Sorted(maps.Keys(n)), "nothing of it is read")
	}
}

// Only what is read of a host is kept of it.
func TestWhatIsKeptOfAHost(t *testing.T) {
	h := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"online": true, "consumerRef": map[string]any{"name": "m", "kind": "Machine"}},
		"status": map[string]any{"poweredOn": true, "provisioning": map[string]any{"state": "available", "image": map[string]any{"url": "u"}},
			"hardware": map[string]any{"cpu": map[string]any{"count": int64(4)}, "nics": []any{map[string]any{"name": "ens3", "mac": "52:54:00:00:00:01",
				"pxe": true, "model": "0x1af4", "ip": "192.0.2.1", "lldp": map[string]any{"switch": "s"}}}}}}}
	h.SetGroupVersionKind(HostKind())
	h.SetNamespace("n")
	h.SetName("h")
	h.SetAnnotations(map[string]string{RolesAnnotation: "storage=ens3", "baremetalhost.metal3.io/status": "{}"})
	h.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}})
	full := hostOf(h)
	out, err := stripObject(h.DeepCopy())
	require.NoError(t, err)
	kept := out.(*unstructured.Unstructured)
	require.Equal(t, full, hostOf(kept))
	require.Equal(t, map[string]string{RolesAnnotation: "storage=ens3"}, kept.GetAnnotations())
	require.Empty(t, kept.GetManagedFields())
	require.Equal(t, map[string]any{
		"spec": map[string]any{"consumerRef": map[string]any{"name": "m", "kind": "Machine"}},
		"status": map[string]any{"provisioning": map[string]any{"state": "available"}, "hardware": map[string]any{
			"nics": []any{map[string]any{"name": "ens3", "mac": "52:54:00:00:00:01", "pxe": true}}}},
	}, map[string]any{"spec": kept.Object["spec"], "status": kept.Object["status"]})
	again, err := stripObject(kept)
	require.NoError(t, err)
	require.Equal(t, kept, again)
}

// Each consumer and host that an owner can have leads to it.
func TestAHostConcernsItsOwnersAlone(t *testing.T) {
	w := newWorld(t)
	name := w.pool
	machine := w.machine(name+"-m", "", "")
	w.object(machineKind, name+"-named", map[string]any{}, func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{hostAnnotation: ns + "/" + name + "-h"})
	})
	w.object(contractMachine, name+"-capi", map[string]any{"infrastructureRef": map[string]any{
		"apiGroup": metal3Machine.Group, "kind": metal3Machine.Kind, "name": name + "-infra"}})
	w.machine(name+"-other", "", "")
	concerns := func(h *unstructured.Unstructured) (out []string) {
		for _, kind := range w.reconciler.kinds() {
			for _, q := range w.reconciler.ownersOfHost(kind)(t.Context(), h) {
				out = append(out, kind.Kind+"."+kind.Group+" "+q.Name)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	h := newObject(HostKind())
	h.SetNamespace(ns)
	h.SetName(name + "-h")
	named := "Machine.machine.openshift.io " + name + "-named"
	w.eventually(func() bool { return slices.Equal(concerns(h), []string{named}) }, "by its name")
	h.Object["spec"] = consumedBy(machineKind, machine.GetName())
	require.Equal(t, []string{"Machine.machine.openshift.io " + name + "-m", named}, concerns(h))
	h.Object["spec"] = consumedBy(metal3Machine, name+"-infra")
	w.eventually(func() bool {
		return slices.Equal(concerns(h), []string{"Machine.cluster.x-k8s.io " + name + "-capi", named,
			"Metal3Machine.infrastructure.cluster.x-k8s.io " + name + "-infra"})
	}, "by what its machine runs on")
}

// kinds are the kinds of owners that are served, hosts aside.
func (r *Reconciler) kinds() (out []schema.GroupVersionKind) {
	r.adding.Lock()
	defer r.adding.Unlock()
	for kind := range r.controllers {
		if kind != HostKind() {
			out = append(out, kind)
		}
	}
	return out
}
