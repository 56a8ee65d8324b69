package ipam

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// The garbage collector takes a claim that is gone off the owners of its address object, and keeps the object for the pool, its other
// owner. Such an object without a lock, as a process leaves it that was suspended between the two, looks like one that an installer
// registered. It is deleted, and its address is free.
func TestObjectThatTheGarbageCollectorLeavesIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.server.StartGarbageCollector(t)
	w.pool("p", between(1, 1))
	first := w.start()
	c := w.claim("c", "p")
	require.Equal(t, "192.0.2.1", w.address("c"))
	first.stop()
	o := &metal3.IPAddress{}
	require.NoError(t, w.get("p-192-0-2-1", o))
	require.Len(t, o.OwnerReferences, 2)
	w.delete(c)
	w.eventually(func() bool { return w.get(o.Name, o) == nil && len(o.OwnerReferences) == 1 }, "the claim is taken off its owners")
	for _, l := range w.locks() {
		require.NoError(t, w.api.Delete(t.Context(), &l))
	}
	w.start()
	w.eventually(func() bool { return apierrors.IsNotFound(w.get(o.Name, o)) || o.Spec.Claim.Name == "next" }, "the object is deleted")
	w.claim("next", "p")
	require.Equal(t, "192.0.2.1", w.address("next"))
}

// A claim of the same name does not get the object of an earlier one for its own.
func TestObjectOfAnEarlierClaimIsNotAdopted(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 9))
	left := &metal3.IPAddress{ObjectMeta: w.meta("p-192-0-2-5"), Spec: metal3.IPAddressSpec{Claim: metal3.ObjectReference{Name: "c"},
		Pool: metal3.ObjectReference{Name: "p"}, Prefix: 24, Address: "192.0.2.5"}}
	left.OwnerReferences = []metav1.OwnerReference{ownerPool(p)}
	require.NoError(t, w.api.Create(t.Context(), left))
	w.start()
	w.claim("c", "p")
	w.address("c")
	w.eventually(func() bool {
		o := &metal3.IPAddress{}
		err := w.get(left.Name, o)
		return apierrors.IsNotFound(err) || err == nil && len(o.OwnerReferences) == 2
	}, "what the earlier claim left is deleted")
	w.eventually(func() bool { return len(w.locks()) == 1 }, "one address is locked")
}
