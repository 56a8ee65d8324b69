package ipam

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// unrelated is the owner that a tool of GitOps or of backups gives what it makes.
func unrelated() []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "tools.example.com/v1", Kind: "Application", Name: "site", UID: "0000-1", Controller: &yes}}
}

func (w *world) registered(name, claim, address string, owners []metav1.OwnerReference) *metal3.IPAddress {
	w.t.Helper()
	o := &metal3.IPAddress{ObjectMeta: w.meta(name), Spec: metal3.IPAddressSpec{Claim: metal3.ObjectReference{Name: claim},
		Pool: metal3.ObjectReference{Name: "p"}, Prefix: 24, Address: metal3.IPAddressStr(address)}}
	o.OwnerReferences = owners
	require.NoError(w.t, w.api.Create(w.t.Context(), o))
	return o
}

// owners are the UIDs of an object's owners.
func (w *world) owners(o client.Object) (uids []types.UID) {
	w.t.Helper()
	require.NoError(w.t, w.get(o.GetName(), o))
	for _, owner := range o.GetOwnerReferences() {
		uids = append(uids, owner.UID)
	}
	return uids
}

// An address object that something else owns was registered in advance, too: it is kept until its claim comes, has the claim and the pool
// for owners beside its own from then on, and goes with its claim.
func TestARegisteredAddressWithAnotherOwnerIsAdopted(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 9))
	native := w.registered("by-a-tool", "c", "192.0.2.5", unrelated())
	contract := &capi.IPAddress{ObjectMeta: w.meta("d"), Spec: capi.IPAddressSpec{ClaimRef: capi.IPAddressClaimReference{Name: "d"},
		PoolRef: capi.IPPoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Name: "p"}, Address: "192.0.2.6", Prefix: new(int32(24))}}
	contract.OwnerReferences = unrelated()
	require.NoError(t, w.api.Create(t.Context(), contract))
	uids := map[string]types.UID{native.Name: native.UID, contract.Name: contract.UID}
	w.start()
	for _, name := range []string{"e", "f", "g", "h", "i"} {
		w.claim(name, "p")
		require.NotContains(t, []string{"192.0.2.5", "192.0.2.6"}, w.address(name), "they are kept for their claims")
	}
	c, d := w.claim("c", "p"), w.contractClaim("d", "p")
	require.Equal(t, "192.0.2.5", w.address("c"))
	require.Equal(t, "192.0.2.6", w.contractAddress("d"))
	require.Equal(t, []types.UID{"0000-1", p.UID, c.UID}, w.owners(native))
	require.Equal(t, []types.UID{"0000-1", p.UID, d.UID}, w.owners(contract))
	require.Equal(t, uids, map[string]types.UID{native.Name: native.UID, contract.Name: contract.UID}, "they are not made anew")
	w.delete(c)
	w.eventually(func() bool { return apierrors.IsNotFound(w.get(native.Name, native)) }, "it goes with its claim")
}

// A tool may add its owner to what this product made. When the claim is gone, so is the address.
func TestAnotherOwnerDoesNotKeepTheAddressOfAClaimThatIsGone(t *testing.T) {
	w := newWorld(t)
	p := w.pool("p", between(1, 1))
	left := w.registered("p-192-0-2-1", "gone", "192.0.2.1", append(unrelated(), ownerPool(p)))
	w.start()
	w.eventually(func() bool { return apierrors.IsNotFound(w.get(left.Name, left)) }, "what the claim left is deleted")
	w.claim("next", "p")
	require.Equal(t, "192.0.2.1", w.address("next"))
}
