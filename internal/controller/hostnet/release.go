package hostnet

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// hostPoll is how soon an owner that is gone is reconciled again whose host still runs; an event of the host is what ends the wait.
const hostPoll = 10 * time.Minute

// cacheLag is how soon an owner is reconciled again whose host the cache does not have yet.
const cacheLag = 5 * time.Second

// release releases the claims of an owner that is gone or being deleted, once no host serves it: a host that still runs may use its
// addresses.
func (r *Reconciler) release(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (ctrl.Result, error) {
	claims := &metal3.IPClaimList{}
	err := r.Client.List(ctx, claims, client.InNamespace(name.Namespace), r.claimsOf(gvk, name.Name))
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("list the claims of %s %s: %w", gvk.Kind, name, err)
	}
	if len(claims.Items) == 0 {
		return ctrl.Result{}, nil
	}
	owner := consumer{kind: gvk.Kind, group: gvk.Group, namespace: name.Namespace, name: name.Name}
	unused, err := r.unused(ctx, owner, claims.Items)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(unused) == 0 {
		return ctrl.Result{RequeueAfter: hostPoll}, nil // hosts are watched
	}
	hosts, err := r.hostsNow(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	living, err := r.ownerNow(ctx, gvk, name)
	if err != nil {
		return ctrl.Result{}, err
	}
	for i := range unused {
		c := &unused[i]
		if inUse(hosts, remembered(owner, c)) || living != "" && ownedBy(c, living) {
			return ctrl.Result{RequeueAfter: cacheLag}, nil // the cache is behind
		}
		if paused, err := r.paused(ctx, c); err != nil || paused {
			return ctrl.Result{RequeueAfter: pausedRetry}, err
		}
		if err := r.releaseClaim(ctx, c, gvk, name.Name); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
}

// claimsOf selects the claims of an owner.
func (r *Reconciler) claimsOf(gvk schema.GroupVersionKind, owner string) client.ListOption {
	if r.objects == nil { // without a manager there are no indexes
		return client.MatchingLabels{OwnerLabel: ownerLabel(gvk, owner)}
	}
	return client.MatchingFields{byOwner: ownerLabel(gvk, owner)}
}

// unused are the claims of an owner that no host in the cache runs for.
func (r *Reconciler) unused(ctx context.Context, owner consumer, claims []metal3.IPClaim) (out []metal3.IPClaim, err error) {
	var own []unstructured.Unstructured
	if owner.kind == HostKind().Kind {
		if own, err = r.hostNamed(ctx, owner.namespace+"/"+owner.name); err != nil {
			return nil, err
		}
	}
	for i := range claims {
		consumers := remembered(owner, &claims[i])
		hosts, err := r.hostsWith(ctx, consumers...)
		if err != nil {
			return nil, err
		}
		if !inUse(append(hosts, own...), consumers) {
			out = append(out, claims[i])
		}
	}
	return out, nil
}

// ownerNow is the UID of the owner that the API server has; empty where it has none, or one that is being deleted. A replica that has just
// become the leader may know claims whose owner its cache does not have yet.
func (r *Reconciler) ownerNow(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (types.UID, error) {
	o := object(gvk)
	err := r.Reader.Get(ctx, name, o)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read %s %s before its claims are released: %w", gvk.Kind, name, err)
	case o.GetDeletionTimestamp() != nil:
		return "", nil
	}
	return o.GetUID(), nil
}

func ownedBy(c *metal3.IPClaim, owner types.UID) bool {
	return slices.ContainsFunc(c.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == owner })
}

// inUse says that a host still runs for one of them, or is one of them and still runs.
func inUse(hosts []unstructured.Unstructured, any []consumer) bool {
	for i := range hosts {
		if consumes(&hosts[i], any...) || itself(&hosts[i]) == any[0] && hostOf(&hosts[i]).runs() {
			return true
		}
	}
	return false
}

// releaseClaim deletes a claim of an owner and takes the finalizer off it.
func (r *Reconciler) releaseClaim(ctx context.Context, c *metal3.IPClaim, gvk schema.GroupVersionKind, owner string) error {
	ours := false
	for _, ref := range c.OwnerReferences {
		ours = ours || ref.Kind == gvk.Kind && ref.Name == owner
	}
	if !ours {
		return nil
	}
	if c.DeletionTimestamp == nil {
		uid := c.UID
		if err := r.Client.Delete(ctx, c, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete claim %s/%s: %w", c.Namespace, c.Name, err)
		}
	}
	if err := r.removeFinalizer(ctx, c); err != nil {
		return err
	}
	r.Log.Info("claim of an owner that is gone released", "kind", gvk.Kind, "owner", owner, "claim", c.Name)
	return nil
}
