package ipam

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// kind is one of the two kinds of claims, with its kind of address objects.
type kind interface {
	// keyOf names a claim of this kind.
	keyOf(types.NamespacedName) key
	// newObject is a claim object without content.
	newObject() client.Object
	// getClaim reads a claim.
	getClaim(ctx context.Context, from client.Reader, name types.NamespacedName) (*claim, error)
	// getAddress reads an address object.
	getAddress(ctx context.Context, from client.Reader, name types.NamespacedName) (held, error)
	// listAll reads all claims and address objects. They are the cache's own and must not be changed.
	listAll(ctx context.Context, from client.Reader) ([]*claim, []held, error)
	// newAddress makes the address object of a claim.
	newAddress(c *claim, name string, pool *metal3.IPPool, lease ipam.Lease) client.Object
	// withOutcome is a copy of the claim whose status reports the outcome.
	withOutcome(c *claim, o outcome, now metav1.Time) client.Object
}

// key names a claim of either kind. Claims with the same name, but of two kinds, are two claims.
type key struct {
	group, kind, namespace, name string
}

func (k key) objectKey() types.NamespacedName {
	return types.NamespacedName{Namespace: k.namespace, Name: k.name}
}

func (k key) String() string { return k.kind + " " + k.namespace + "/" + k.name }

// keyOf is the claim that a lock names.
func keyOf(c *lockv1.ClaimReference) key {
	return key{group: c.APIGroup, kind: c.Kind, namespace: c.Namespace, name: c.Name}
}

// claim is a claim of either kind, reduced to what both have.
type claim struct {
	client.Object
	key  key
	pool types.NamespacedName
	// foreign says that the claim refers to another provider's pool.
	foreign bool
	// badReference says why the reference to the pool cannot be followed.
	badReference string
	// cluster is the Cluster that the claim belongs to, if any.
	cluster string
	// ownFinalizers are the finalizers of this controller; needsFinalizer says that the first of them is to be set.
	ownFinalizers  []string
	needsFinalizer bool
	// fixedAddressName names the address object where the kind's contract says so.
	fixedAddressName string
	// addressName is the address object that status names.
	addressName string
	conditions  []metav1.Condition
}

// keepsAddress says that the claim keeps its address: it is not being deleted, or another controller's finalizer is on it.
func (c *claim) keepsAddress() bool {
	return c.GetDeletionTimestamp() == nil ||
		slices.ContainsFunc(c.GetFinalizers(), func(f string) bool { return !slices.Contains(c.ownFinalizers, f) })
}

// newAddressName names the address object of the claim.
func (c *claim) newAddressName(pool *metal3.IPPool, lease ipam.Lease) string {
	dashed := strings.TrimRight(strings.NewReplacer(".", "-", ":", "-").Replace(lease.Address.String()), "-")
	return cmp.Or(c.fixedAddressName, pool.Spec.NamePrefix+"-"+dashed)
}

// outcome is what the status of a claim reports.
type outcome struct {
	addressName string // empty while there is no address
	reason      string
	message     string
}

// readyCondition is the outcome as condition Ready.
func (o outcome) readyCondition(generation int64, now metav1.Time) metav1.Condition {
	c := metav1.Condition{Type: metal3.ConditionReady, Status: metav1.ConditionFalse, Reason: o.reason, Message: o.message,
		ObservedGeneration: generation, LastTransitionTime: now}
	if o.addressName != "" {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// held is an address object of either kind.
type held struct {
	client.Object
	claim   key
	pool    types.NamespacedName // empty where it is another provider's
	address string
}

// ownerUID is the claim that the address object was made for; empty for an object that an installer registered.
func (h held) ownerUID() types.UID {
	for _, o := range h.GetOwnerReferences() {
		if o.Kind == h.claim.kind && o.Name == h.claim.name {
			return o.UID
		}
	}
	return ""
}

// isPreRegistered says that no controller of addresses made the object: an installer did, or a tool whose own object owns it, for a claim
// that need not exist yet. An object that its pool owns, and no claim, was made for a claim that is gone: the garbage collector takes an
// owner that is gone off the list.
func (h held) isPreRegistered() bool {
	if h.GetLabels()[metal3.PreRegisteredLabel] != "" {
		return h.ownerUID() == ""
	}
	return !slices.ContainsFunc(h.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return o.Kind == h.claim.kind || o.Kind == poolKind
	})
}

// belongsTo says that the object names the claim and was not made for an earlier claim of that name.
func (h held) belongsTo(of key, uid types.UID) bool {
	return h.claim == of && (h.ownerUID() == uid || h.isPreRegistered())
}

// poolKind is the kind of pools.
const poolKind = "IPPool"

func ownerPool(pool *metal3.IPPool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: metal3.GroupVersion.String(), Kind: poolKind, Name: pool.Name, UID: pool.UID}
}

// native is the kind IPClaim of metal3.
type native struct{}

func (native) keyOf(n types.NamespacedName) key {
	return key{metal3.GroupVersion.Group, "IPClaim", n.Namespace, n.Name}
}

func (native) newObject() client.Object { return &metal3.IPClaim{} }

func (k native) getClaim(ctx context.Context, from client.Reader, name types.NamespacedName) (*claim, error) {
	o := &metal3.IPClaim{}
	if err := from.Get(ctx, name, o); err != nil {
		return nil, fmt.Errorf("read IPClaim %s: %w", name, err)
	}
	return k.readClaim(o), nil
}

// readClaim reads an IPClaim. The lock outlives a claim that vanishes, so it needs no finalizer; metal3's own is taken off.
func (k native) readClaim(o *metal3.IPClaim) *claim {
	ref := o.Spec.Pool
	c := &claim{
		Object: o, key: k.keyOf(client.ObjectKeyFromObject(o)), pool: types.NamespacedName{Namespace: o.Namespace, Name: ref.Name},
		cluster: o.Labels[metal3.ClusterNameLabel], ownFinalizers: []string{metal3.ClaimFinalizer}, conditions: o.Status.Conditions,
	}
	if o.Status.Address != nil {
		c.addressName = o.Status.Address.Name
	}
	if g := groupOf(ref.APIVersion); g != "" && g != metal3.GroupVersion.Group || ref.Kind != "" && ref.Kind != poolKind {
		c.foreign = true
	}
	if ref.Namespace != "" && ref.Namespace != o.Namespace {
		c.badReference = fmt.Sprintf("pool %s/%s is in another namespace than the claim; name a pool of namespace %s",
			ref.Namespace, ref.Name, o.Namespace)
	}
	return c
}

// groupOf is the group of an apiVersion.
func groupOf(apiVersion string) string {
	group, _, versioned := strings.Cut(apiVersion, "/")
	if !versioned {
		return ""
	}
	return group
}

func (k native) getAddress(ctx context.Context, from client.Reader, name types.NamespacedName) (held, error) {
	o := &metal3.IPAddress{}
	if err := from.Get(ctx, name, o); err != nil {
		return held{}, fmt.Errorf("read IPAddress %s: %w", name, err)
	}
	return k.readAddress(o), nil
}

func (k native) readAddress(o *metal3.IPAddress) held {
	return held{Object: o, address: string(o.Spec.Address),
		claim: k.keyOf(types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.Claim.Name}),
		pool:  types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.Pool.Name}}
}

func (k native) listAll(ctx context.Context, from client.Reader) (claims []*claim, addresses []held, err error) {
	c, a := &metal3.IPClaimList{}, &metal3.IPAddressList{}
	for _, l := range []client.ObjectList{c, a} {
		if err := from.List(ctx, l, client.UnsafeDisableDeepCopy); err != nil {
			return nil, nil, fmt.Errorf("list %T: %w", l, err)
		}
	}
	for i := range c.Items {
		claims = append(claims, k.readClaim(&c.Items[i]))
	}
	for i := range a.Items {
		addresses = append(addresses, k.readAddress(&a.Items[i]))
	}
	return claims, addresses, nil
}

func (native) newAddress(c *claim, name string, pool *metal3.IPPool, lease ipam.Lease) client.Object {
	o := &metal3.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.GetNamespace(), Labels: c.GetLabels(),
			OwnerReferences: []metav1.OwnerReference{ownerPool(pool), {
				APIVersion: metal3.GroupVersion.String(), Kind: "IPClaim", Name: c.GetName(), UID: c.GetUID()}}},
		Spec: metal3.IPAddressSpec{
			Claim:  metal3.ObjectReference{Name: c.GetName(), Namespace: c.GetNamespace()},
			Pool:   metal3.ObjectReference{Name: pool.Name, Namespace: pool.Namespace},
			Prefix: lease.Bits, Address: metal3.IPAddressStr(lease.Address.String()),
		},
	}
	if lease.Gateway.IsValid() {
		g := metal3.IPAddressStr(lease.Gateway.String())
		o.Spec.Gateway = &g
	}
	for _, s := range lease.DNS {
		o.Spec.DNSServers = append(o.Spec.DNSServers, metal3.IPAddressStr(s.String()))
	}
	return o
}

func (native) withOutcome(c *claim, of outcome, now metav1.Time) client.Object {
	o := c.Object.(*metal3.IPClaim).DeepCopy()
	o.Status.Address, o.Status.ErrorMessage = nil, nil
	if of.addressName != "" {
		o.Status.Address = &metal3.ObjectReference{Name: of.addressName, Namespace: o.Namespace}
	} else {
		o.Status.ErrorMessage = &of.message
	}
	apimeta.SetStatusCondition(&o.Status.Conditions, of.readyCondition(o.Generation, now))
	return o
}
