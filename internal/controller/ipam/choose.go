package ipam

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// choose finds the lock that a claim keeps among those it has, and those it must lose: of an earlier claim of that
// name, or of a second replica that served it at the same time. The claim's status, and the address object that it
// names, have decided which; before they have, nothing is lost.
func (r *Reconciler) choose(ctx context.Context, k kind, c *claim) (keep *lockv1.AddressLock, surplus []*lockv1.AddressLock) {
	var own []*lockv1.AddressLock
	for _, lock := range r.ledger.ofClaim(c.key) {
		if lock.Spec.Claim.UID == c.GetUID() {
			own = append(own, lock)
		} else {
			surplus = append(surplus, lock)
		}
	}
	slices.SortFunc(own, func(a, b *lockv1.AddressLock) int { return strings.Compare(a.Name, b.Name) })
	decided := r.addressOf(ctx, k, c)
	for _, lock := range own {
		if lock.Spec.Address == decided {
			return lock, append(surplus, slices.DeleteFunc(own, func(l *lockv1.AddressLock) bool { return l == lock })...)
		}
	}
	if len(own) > 0 {
		keep = own[0]
	}
	return keep, surplus
}

// addressOf is the address that a claim was told; empty where none was, or its object is not there.
func (r *Reconciler) addressOf(ctx context.Context, k kind, c *claim) string {
	if c.address == "" {
		return ""
	}
	h, err := k.read(ctx, r.Client, types.NamespacedName{Namespace: c.key.namespace, Name: c.address})
	if err != nil || h.claim != c.key {
		return ""
	}
	return canonical(h.address)
}

func canonical(address string) string {
	a, err := ipam.ParseAddr(address)
	if err != nil {
		return address
	}
	return a.String()
}

// poolFor is the pool that serves a claim. A claim that has its lock is served whatever became of the pool, as
// long as the pool can be calculated with.
func (r *Reconciler) poolFor(ctx context.Context, c *claim, lock *lockv1.AddressLock) (*pool, *verdict) {
	if c.wrong != "" {
		return nil, &verdict{reason: metal3.ReasonPoolNotFound, message: c.wrong}
	}
	p := r.ledger.pool(c.pool)
	if p == nil {
		return nil, r.missing(ctx, c)
	}
	if lock != nil {
		return p, nil
	}
	if reason, message := r.closed(p); reason != "" {
		return nil, &verdict{reason: metal3.ReasonPoolNotReady, message: message}
	}
	return p, nil
}

func (r *Reconciler) missing(ctx context.Context, c *claim) *verdict {
	err := r.Client.Get(ctx, c.pool, &metal3.IPPool{})
	if err != nil {
		return &verdict{reason: metal3.ReasonPoolNotFound, message: fmt.Sprintf("pool %s does not exist", c.pool)}
	}
	return &verdict{reason: metal3.ReasonPoolNotReady,
		message: fmt.Sprintf("pool %s can not give out addresses; its condition Ready says why", c.pool)}
}

// closed says why a pool gives nothing new out.
func (r *Reconciler) closed(p *pool) (reason, message string) {
	if p.object.DeletionTimestamp != nil {
		return metal3.ReasonDeleting, fmt.Sprintf("pool %s is being deleted and gives no more addresses out", p.spec.Name)
	}
	name := client.ObjectKeyFromObject(p.object)
	for _, other := range r.ledger.others(name, p.spec.Network) {
		if meets(p.spec, other.spec) {
			return metal3.ReasonOverlap, ipam.Conflicts(p.spec, other.spec).Error()
		}
	}
	return "", ""
}

// meets says that the DHCP range of one pool and what the other has have an address in common. Ranges of two pools
// may: an address is locked on its network whatever pool it is taken from.
func meets(a, b ipam.Spec) bool {
	if !a.DHCP.IsValid() && !b.DHCP.IsValid() {
		return false
	}
	all := ipam.Conflicts(a, b)
	a.DHCP, b.DHCP = netipx.IPRange{}, netipx.IPRange{}
	ranges := ipam.Conflicts(a, b)
	return all != nil && (ranges == nil || ranges.Error() != all.Error())
}

func asRefusal(err error) (*ipam.Refusal, bool) {
	var refusal *ipam.Refusal
	if errors.As(err, &refusal) {
		return refusal, true
	}
	return nil, errors.Is(err, errAnnotation)
}
