package hostnet

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// leave gives back what an owner had that is gone or going, once no host serves it: a host that still runs may
// still use its addresses.
func (r *Reconciler) leave(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (ctrl.Result, error) {
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
	for i := range claims.Items {
		c := &claims.Items[i]
		if inUse(hosts, remembered(owner, c)) {
			continue // looked at again when the host changes
		}
		if paused, err := r.paused(ctx, c); err != nil || paused {
			return ctrl.Result{RequeueAfter: whilePaused}, err
		}
		if err := r.giveBack(ctx, c, gvk, name.Name); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{}, nil
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

// giveBack deletes a claim and takes the finalizer off it.
func (r *Reconciler) giveBack(ctx context.Context, c *metal3.IPClaim, gvk schema.GroupVersionKind, owner string) error {
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
	if err := r.unhold(ctx, c); err != nil {
		return err
	}
	r.Log.Info("addresses of an owner that left are given back", "kind", gvk.Kind, "owner", owner, "claim", c.Name)
	return nil
}
