package hostnet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// A reservation is a claim that was registered in advance, before the cluster had machines: it names its host as the installer does,
// master-0. The owner that adopts it writes the identity that every claim has, namespace/BareMetalHost/interface, so that what is kept
// for the host is found by its next machine, and given up with the host.

// ConditionAdopted, on a reservation, says whether a machine or host has adopted it.
const ConditionAdopted = "Adopted"

// Reasons of the condition.
const (
	reasonAdopted    = "Adopted"
	reasonNotAdopted = "NotAdopted"
)

// adoptionGrace is how long a reservation may wait for its machine before that is reported: an installation takes that long.
const adoptionGrace = time.Hour

// infraLabel, on a Machine of OpenShift, is the identifier of the cluster, with which the names of its machines begin.
const infraLabel = "machine.openshift.io/cluster-api-cluster"

// interfaceIdentity is what claims, locks and reservations call an interface of a host.
func (h *host) interfaceIdentity(l link) string { return h.String() + "/" + l.name }

// findReservation finds the claim that was registered in advance for an interface of an owner on a pool; nil where there is none.
func (r *Reconciler) findReservation(
	ctx context.Context, o *unstructured.Unstructured, h *host, l link, pool string,
) (*metal3.IPClaim, error) {
	list := &metal3.IPClaimList{}
	if err := r.Client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{byReservedPool: pool}); err != nil {
		return nil, fmt.Errorf("list the claims registered in advance: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	names, err := r.namesOf(ctx, o, h)
	if err != nil {
		return nil, err
	}
	var best *metal3.IPClaim
	bestRank := len(names) + 1
	slices.SortFunc(list.Items, func(a, b metal3.IPClaim) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		c := &list.Items[i]
		iface, named := c.Labels[InterfaceLabel]
		if named && iface != kinds.InterfaceLabel(l.name) || metav1.GetControllerOf(c) != nil && !metav1.IsControlledBy(c, o) {
			continue
		}
		if named && metav1.IsControlledBy(c, o) {
			return c, nil
		}
		if rank := rankOf(c.Annotations[metal3.HostAnnotation], names, h, l); rank < bestRank {
			best, bestRank = c, rank
		}
	}
	return best, nil
}

// rankOf says how surely a reservation is for an interface of a host, 0 being the surest; no less than len(names)+1 means that it is not.
func rankOf(reserved string, names []string, h *host, l link) int {
	no := len(names) + 1
	if h != nil && (reserved == h.String() || reserved == h.interfaceIdentity(l)) {
		return 0
	}
	name, iface, split := strings.Cut(reserved, "/")
	if at := slices.Index(names, name); at >= 0 && (!split || iface == l.name) {
		return at + 1
	}
	return no
}

// namesOf are what a reservation may call an owner by, the surest first: the names of its host, of itself and of its node, and what is
// left of them without the identifier of the cluster and without what the installer puts before the name of a host. One that is another
// owner's or host's own name is not among them.
func (r *Reconciler) namesOf(ctx context.Context, o *unstructured.Unstructured, h *host) ([]string, error) {
	var names []string
	if h != nil {
		names = append(names, h.Name)
	}
	names = append(names, o.GetName())
	if node, _, _ := unstructured.NestedString(o.Object, "status", "nodeRef", "name"); node != "" {
		short, _, _ := strings.Cut(node, ".")
		names = append(names, node, short)
	}
	for _, name := range slices.Clone(names) {
		alias := strings.TrimPrefix(name, o.GetLabels()[infraLabel]+"-")
		alias = kinds.PlainHost(alias)
		if slices.Contains(names, alias) {
			continue
		}
		other, err := r.isAnothers(ctx, o, alias)
		if err != nil {
			return nil, err
		}
		if !other {
			names = append(names, alias)
		}
	}
	return names, nil
}

// isAnothers says that a name is the own one of another owner of the kind, or of another host, in the namespace.
func (r *Reconciler) isAnothers(ctx context.Context, o *unstructured.Unstructured, name string) (bool, error) {
	gvks := []*unstructured.Unstructured{newObject(o.GroupVersionKind())}
	if r.isServed(HostKind()) {
		gvks = append(gvks, newObject(HostKind()))
	}
	for _, other := range gvks {
		err := r.objectReader().Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: name}, other)
		if err == nil {
			return true, nil
		}
		if !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("read %s %s/%s: %w", other.GetKind(), o.GetNamespace(), name, err)
		}
	}
	return false, nil
}

// setHostIdentity writes the identity of the host into a reservation, which had the installer's word for it.
func setHostIdentity(c *metal3.IPClaim, h *host, l link) (changed bool) {
	_, registered := c.Labels[metal3.PreRegisteredLabel]
	if !registered || h == nil || c.Annotations[metal3.HostAnnotation] == h.interfaceIdentity(l) {
		return false
	}
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, metal3.HostAnnotation, h.interfaceIdentity(l))
	return true
}

// watchReservations adds the controller that reports reservations which nothing adopts.
func (r *Reconciler) watchReservations(mgr ctrl.Manager) error {
	registered := predicate.NewPredicateFuncs(func(o client.Object) bool {
		_, yes := o.GetLabels()[metal3.PreRegisteredLabel]
		return yes
	})
	err := ctrl.NewControllerManagedBy(mgr).Named("hostnet-reservations").
		For(&metal3.IPClaim{}, builder.WithPredicates(registered)).
		Complete(reconcile.Func(func(ctx context.Context, q reconcile.Request) (reconcile.Result, error) {
			return r.reconcileReservation(ctx, q.NamespacedName)
		}))
	if err != nil {
		return fmt.Errorf("watch reservations: %w", err)
	}
	return nil
}

// reconcileReservation reports, once the time for it has passed, that nothing has adopted a reservation, and that something did later.
func (r *Reconciler) reconcileReservation(ctx context.Context, name types.NamespacedName) (ctrl.Result, error) {
	c := &metal3.IPClaim{}
	if err := r.Client.Get(ctx, name, c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	reported := apimeta.FindStatusCondition(c.Status.Conditions, ConditionAdopted)
	if owner := metav1.GetControllerOf(c); owner != nil || c.DeletionTimestamp != nil {
		if owner == nil || reported == nil {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, r.reportAdoption(ctx, c, metav1.ConditionTrue, reasonAdopted,
			fmt.Sprintf("%s %s has adopted it", owner.Kind, owner.Name))
	}
	if left := adoptionGrace - r.Now().Sub(c.CreationTimestamp.Time); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	host := c.Annotations[metal3.HostAnnotation]
	return ctrl.Result{}, r.reportAdoption(ctx, c, metav1.ConditionFalse, reasonNotAdopted, fmt.Sprintf(
		"no machine or host that asks for pool %s is %q, and so nothing uses the address: write the BareMetalHost into annotation %s, "+
			"as namespace/name, or delete the claim", c.Spec.Pool.Name, host, metal3.HostAnnotation))
}

// reportAdoption writes the condition of a reservation, and an event if it is news.
func (r *Reconciler) reportAdoption(ctx context.Context, c *metal3.IPClaim, is metav1.ConditionStatus, reason, message string) error {
	before := c.DeepCopy()
	changed := apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: ConditionAdopted, Status: is, Reason: reason,
		Message: message, ObservedGeneration: c.Generation, LastTransitionTime: metav1.NewTime(r.Now())})
	if !changed {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write condition %s of claim %s/%s: %w", ConditionAdopted, c.Namespace, c.Name, err)
	}
	severity := corev1.EventTypeNormal
	if is == metav1.ConditionFalse {
		severity = corev1.EventTypeWarning
	}
	r.Events.Eventf(c, nil, severity, reason, "Adopt", "%s", status.ClipNote(message))
	return nil
}
