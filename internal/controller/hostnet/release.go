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

// cacheLag is how soon an owner is reconciled again whose host the cache does not have yet.
const cacheLag = 5 * time.Second

// release releases the claims of an owner that is gone or being deleted, once no host serves it: a host that still runs may use its
// addresses.
func (r *Reconciler) release(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (ctrl.Result, error) {
	claims := &metal3.IPClaimList{}
	err := r.Client.List(ctx, claims, client.InNamespace(name.Namespace), client.MatchingLabels{OwnerLabel: ownerLabel(gvk, name.Name)})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("list the claims of %s %s: %w", gvk.Kind, name, err)
	}
	if len(claims.Items) == 0 {
		return ctrl.Result{}, nil
	}
	hosts, err := r.hosts(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	owner := consumer{kind: gvk.Kind, group: gvk.Group, namespace: name.Namespace, name: name.Name}
	unused := slices.DeleteFunc(claims.Items, func(c metal3.IPClaim) bool { return inUse(hosts, remembered(owner, &c)) })
	if len(unused) == 0 {
		return ctrl.Result{}, nil // hosts are watched
	}
	if hosts, err = r.hostsNow(ctx); err != nil {
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
