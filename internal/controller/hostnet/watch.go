package hostnet

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// Add serves a kind of owners from now on. A kind that is served already, in whatever version, is left as it is.
func (r *Reconciler) Add(mgr ctrl.Manager, gvk schema.GroupVersionKind) error {
	r.adding.Lock()
	defer r.adding.Unlock()
	for known := range r.controllers {
		if known.GroupKind() == gvk.GroupKind() {
			return nil
		}
	}
	c, err := r.newController(mgr, gvk)
	if err != nil {
		return fmt.Errorf("watch %s: %w", gvk, err)
	}
	if r.controllers == nil {
		if err := r.watchReservations(mgr); err != nil {
			return err
		}
		r.controllers = map[schema.GroupVersionKind]controller.Controller{}
	}
	r.controllers[gvk] = c
	if gvk != HostKind() {
		return r.watchHosts(mgr, gvk)
	}
	for owner := range r.controllers {
		if err := r.watchHosts(mgr, owner); err != nil {
			return err
		}
	}
	return nil
}

// watchHosts has the controller of a kind of owners follow hosts, once both kinds are served.
func (r *Reconciler) watchHosts(mgr ctrl.Manager, owner schema.GroupVersionKind) error {
	if r.controllers[HostKind()] == nil || owner == HostKind() {
		return nil
	}
	objects, err := r.objectsOf(mgr)
	if err != nil {
		return err
	}
	hosts := source.Kind[client.Object](objects, newObject(HostKind()),
		handler.EnqueueRequestsFromMapFunc(r.ownersOfHost(owner)), keptFieldsChanged())
	if err := r.controllers[owner].Watch(hosts); err != nil {
		return fmt.Errorf("watch hosts for %s: %w", owner, err)
	}
	return nil
}

// isServed says whether a kind is watched.
func (r *Reconciler) isServed(gvk schema.GroupVersionKind) bool {
	r.adding.Lock()
	defer r.adding.Unlock()
	return r.controllers[gvk] != nil
}

func newObject(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	return o
}

// workers is how many owners of a kind are reconciled at a time. Most of the time of each is waiting for the API.
const workers = 8

// newController makes the controller of a kind of owners.
func (r *Reconciler) newController(mgr ctrl.Manager, gvk schema.GroupVersionKind) (controller.Controller, error) {
	objects, err := r.objectsOf(mgr)
	if err != nil {
		return nil, err
	}
	if err := r.addIndexes(objects, gvk); err != nil {
		return nil, err
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("hostnet-"+strings.ToLower(gvk.Kind+"."+gvk.Group)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		WatchesRawSource(source.Kind[client.Object](objects, newObject(gvk), &handler.EnqueueRequestForObject{}, keptFieldsChanged())).
		Watches(&metal3.IPClaim{}, handler.EnqueueRequestsFromMapFunc(ownerOf(gvk)))
	if gvk == HostKind() {
		b = b.Watches(&lockv1.AddressLock{}, handler.EnqueueRequestsFromMapFunc(keptFor))
	}
	return b.Build(reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
		if gvk == HostKind() {
			if err := r.releaseKeptAddresses(ctx, q.NamespacedName); err != nil {
				return reconcile.Result{}, err
			}
		}
		return r.reconcileOwner(ctx, gvk, q.NamespacedName)
	}))
}

// ownerOf finds the owner of a claim, by reference or by label: an owner that is gone is reconciled too.
func ownerOf(gvk schema.GroupVersionKind) handler.MapFunc {
	return func(_ context.Context, o client.Object) []reconcile.Request {
		ref := metav1.GetControllerOf(o)
		if ref == nil || ref.Kind != gvk.Kind || !strings.HasPrefix(ref.APIVersion, gvk.Group+"/") {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}}}
	}
}

// keptFor is the host that an address is kept for, which may be gone by then.
func keptFor(_ context.Context, o client.Object) []reconcile.Request {
	l, ok := o.(*lockv1.AddressLock)
	if !ok || l.Spec.State != lockv1.LockReserved {
		return nil
	}
	parts := strings.SplitN(l.Spec.Host, "/", 3)
	if len(parts) < 2 {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: parts[0], Name: parts[1]}}}
}

// ownersOfHost finds the owners of a kind that a host concerns: those that it names as its consumer or that name it, and those of claims
// that are for it or for its consumer, which may be gone. A host that changes concerns those of before and those of now.
func (r *Reconciler) ownersOfHost(gvk schema.GroupVersionKind) handler.MapFunc {
	return func(ctx context.Context, h client.Object) (out []reconcile.Request) {
		u, ok := h.(*unstructured.Unstructured)
		if !ok {
			return nil
		}
		of := client.ObjectKeyFromObject(h).String()
		owners, claims := []client.MatchingFields{{byHost: of}}, []client.MatchingFields{{byHost: of}}
		if c, named := consumerOf(u); named {
			if c.matches(consumer{kind: gvk.Kind, group: gvk.Group, namespace: c.namespace, name: c.name}) {
				out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: c.namespace, Name: c.name}})
			}
			owners = append(owners, client.MatchingFields{byInfrastructure: c.indexKey()})
			claims = append(claims, client.MatchingFields{byConsumer: c.indexKey()})
		}
		for _, with := range owners {
			out = append(out, r.ownersWith(ctx, gvk, with)...)
		}
		for _, with := range claims {
			out = append(out, r.ownersOfClaims(ctx, gvk, with)...)
		}
		return out // the queue keeps each once
	}
}

func (r *Reconciler) ownersWith(ctx context.Context, gvk schema.GroupVersionKind, with client.MatchingFields) (out []reconcile.Request) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	if err := r.objectReader().List(ctx, list, with); err != nil {
		r.Log.Error("the owners that a host concerns are unknown", "kind", gvk.Kind, "error", err)
		return nil
	}
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}

func (r *Reconciler) ownersOfClaims(
	ctx context.Context, gvk schema.GroupVersionKind, with client.MatchingFields,
) (out []reconcile.Request) {
	claims := &metal3.IPClaimList{}
	if err := r.Client.List(ctx, claims, with); err != nil {
		r.Log.Error("the claims that a host concerns are unknown", "error", err)
		return nil
	}
	for i := range claims.Items {
		out = append(out, ownerOf(gvk)(ctx, &claims.Items[i])...)
	}
	return out
}

// releaseKeptAddresses releases what is kept for a host that does not exist any more, as the API server says, not the cache.
func (r *Reconciler) releaseKeptAddresses(ctx context.Context, name types.NamespacedName) error {
	for _, from := range []client.Reader{r.objectReader(), r.Reader} {
		if err := from.Get(ctx, name, newObject(HostKind())); err == nil || client.IgnoreNotFound(err) != nil {
			return client.IgnoreNotFound(err)
		}
	}
	locks := &lockv1.AddressLockList{}
	if err := r.Client.List(ctx, locks, client.MatchingFields{byHost: name.String()}); err != nil {
		return fmt.Errorf("list what is kept for host %s: %w", name, err)
	}
	for i := range locks.Items {
		l := &locks.Items[i]
		if l.Spec.State != lockv1.LockReserved || !strings.HasPrefix(l.Spec.Host+"/", name.String()+"/") {
			continue
		}
		uid, version := l.UID, l.ResourceVersion
		if err := r.Client.Delete(ctx, l, client.Preconditions{UID: &uid, ResourceVersion: &version}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release lock %s of host %s: %w", l.Name, name, err)
		}
	}
	return nil
}
