package hostnet

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

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
	hosts, watched, err := r.allHosts(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	result := ctrl.Result{}
	owner := consumer{kind: gvk.Kind, group: gvk.Group, namespace: name.Namespace, name: name.Name}
	for i := range claims.Items {
		c := &claims.Items[i]
		if inUse(hosts, remembered(owner, c)) {
			if !watched {
				result.RequeueAfter = unwatchedRetry
			}
			continue // a host that is watched comes back here
		}
		if paused, err := r.paused(ctx, c); err != nil || paused {
			return ctrl.Result{RequeueAfter: pausedRetry}, err
		}
		if err := r.releaseClaim(ctx, c, gvk, name.Name); err != nil {
			return ctrl.Result{}, err
		}
	}
	return result, nil
}

// unwatchedRetry is how soon hosts are read again whose kind was installed after the operator started.
const unwatchedRetry = 15 * time.Second

// allHosts lists the hosts past the cache where their kind was installed after the operator started: they are not watched, and an
// address that one of them uses must not be released.
func (r *Reconciler) allHosts(ctx context.Context) (hosts []unstructured.Unstructured, watched bool, err error) {
	if r.Hosts {
		hosts, err = r.hosts(ctx)
		return hosts, true, err
	}
	served, err := cluster.Serves(r.Client.RESTMapper(), HostKind())
	if err != nil || !served {
		return nil, false, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(HostKind())
	if err := r.Reader.List(ctx, list); err != nil {
		return nil, false, fmt.Errorf("list hosts: %w", err)
	}
	return list.Items, false, nil
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
