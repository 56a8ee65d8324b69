// Package hostnet gives each machine the addresses of its secondary networks, and an Ignition config of its
// own that sets them.
//
// An owner is a Machine of OpenShift or of the Cluster API, a Metal3Machine, or a BareMetalHost. Its annotation
// ipam.lca.openshift.io/networks says which interface is on which pool:
//
//	ipam.lca.openshift.io/networks: ens4=storage,ens5=backup4+backup6
//
// For each pool there is an IPClaim that the owner controls. A finalizer on the claim keeps the address until no
// BareMetalHost serves the owner any more. What is paused is left alone. Once all claims have their addresses, the Secret
// <owner>-host-user-data is written: the base config of the role with the addresses merged in, and the same as
// networkData. It does not change any more once the host is being provisioned.
//
// internal/controller sets it up. It knows the controller that serves claims only through their kinds.
package hostnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
)

// Reconciler serves owners of all kinds.
type Reconciler struct {
	Client client.Client
	// Reader reads past the cache; Secrets are read with it, so that no watch on all of them is needed.
	Reader client.Reader
	Events events.EventRecorder
	Log    *slog.Logger
	// Metrics counts hosts that began without their own config; Now is the clock of conditions.
	Metrics *Metrics
	Now     func() time.Time

	// adding guards what follows: the controllers of the kinds that the cluster has. Kinds may be installed later.
	adding      sync.Mutex
	controllers map[schema.GroupVersionKind]controller.Controller
	// objects is the cache of owners and hosts.
	objects cache.Cache

	// reported is the last message about the delivery to an owner without conditions, by its UID.
	reported sync.Map
}

// reconcileOwner serves one owner.
func (r *Reconciler) reconcileOwner(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (ctrl.Result, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	err := r.objectReader().Get(ctx, name, o)
	if apierrors.IsNotFound(err) {
		return r.releaseClaims(ctx, gvk, name)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", gvk.Kind, name, err)
	}
	if len(o.GetAnnotations()[NetworksAnnotation]) == 0 && o.GetDeletionTimestamp() == nil {
		return ctrl.Result{}, nil
	}
	if paused, err := r.isPaused(ctx, o); err != nil || paused {
		return ctrl.Result{RequeueAfter: pausedRetry}, err
	}
	if o.GetDeletionTimestamp() != nil {
		return r.releaseClaims(ctx, gvk, name)
	}
	wanted, err := linksOf(o)
	if err != nil {
		r.warnOwner(o, "InvalidNetworks", err.Error())
		return ctrl.Result{}, nil
	}
	if len(wanted) == 0 {
		return ctrl.Result{}, nil
	}
	err = r.serveOwner(ctx, o, wanted)
	if errors.Is(err, errNoBase) {
		return ctrl.Result{RequeueAfter: baseRetry}, nil // Secrets are not watched
	}
	if errors.Is(err, errAddressUnseen) {
		return ctrl.Result{RequeueAfter: addressLag}, nil
	}
	return ctrl.Result{}, err
}

// serveOwner makes the claims of an owner and, once they are served, its Secret.
func (r *Reconciler) serveOwner(ctx context.Context, o *unstructured.Unstructured, wanted []link) error {
	h, err := r.hostFor(ctx, o)
	if err != nil {
		return err
	}
	var got []served
	complete := true
	for _, l := range wanted {
		s := served{link: l}
		for _, pool := range l.pools {
			lease, ok, err := r.ensureClaim(ctx, o, h, l, pool)
			if err != nil {
				return err
			}
			complete = complete && ok
			s.leases = append(s.leases, lease)
		}
		got = append(got, s)
	}
	if !complete {
		return nil // the claims are watched
	}
	if err := h.findInterfaces(got); err != nil {
		if h != nil && len(h.nics) > 0 { // a host that is chosen and inspected lacks it
			r.warnOwner(o, "NoInterfaceOfRole", err.Error())
		}
		return nil // hosts are watched
	}
	if err := r.publishSecret(ctx, o, h, got); err != nil {
		return err
	}
	return r.reportDelivery(ctx, o, h)
}

// hostFor is the BareMetalHost that serves an owner; nil while there is none.
func (r *Reconciler) hostFor(ctx context.Context, o *unstructured.Unstructured) (*host, error) {
	if o.GroupVersionKind() == HostKind() {
		return hostOf(o), nil
	}
	consumers := []consumer{asConsumer(o)}
	if machine, ok := infrastructureOf(o); ok {
		consumers = append(consumers, machine)
	}
	hosts, err := r.hostsWith(ctx, consumers...)
	if err != nil {
		return nil, err
	}
	named, err := r.hostNamed(ctx, o.GetAnnotations()[hostAnnotation])
	if err != nil {
		return nil, err
	}
	for _, h := range append(named, hosts...) {
		if servesOwner(&h, o) {
			return hostOf(&h), nil
		}
	}
	return nil, nil
}

// hostsWith are the hosts in the cache that name one of them as their consumer; none while the cluster has no such kind.
func (r *Reconciler) hostsWith(ctx context.Context, any ...consumer) (hosts []unstructured.Unstructured, err error) {
	if !r.isServed(HostKind()) {
		return nil, nil
	}
	for _, c := range any {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(HostKind())
		if err := r.objectReader().List(ctx, list, client.MatchingFields{byConsumer: c.indexKey()}); err != nil {
			return nil, fmt.Errorf("list the hosts of %s: %w", c, err)
		}
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
		hosts = append(hosts, list.Items...)
	}
	return hosts, nil
}

// hostNamed is the host in the cache of that name, namespace/name, if there is one.
func (r *Reconciler) hostNamed(ctx context.Context, text string) ([]unstructured.Unstructured, error) {
	namespace, name, found := strings.Cut(text, "/")
	if !found || !r.isServed(HostKind()) {
		return nil, nil
	}
	h := newObject(HostKind())
	if err := r.objectReader().Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, h); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read host %s: %w", text, err)
	}
	return []unstructured.Unstructured{*h}, nil
}

// hostsNow are those that the API server has. What may only be done when a host is gone rests on this: a cache may be empty because
// it is not filled, or because the kind is not watched yet.
func (r *Reconciler) hostsNow(ctx context.Context) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(HostKind())
	if err := r.Reader.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("list hosts: %w", err)
	}
	return list.Items, nil
}

func (r *Reconciler) warnOwner(on client.Object, reason, note string) {
	r.Events.Eventf(on, nil, corev1.EventTypeWarning, reason, "Configure", "%s", status.ClipNote(note))
}

// hostPausedAnnotation pauses the controllers of a BareMetalHost.
const hostPausedAnnotation = "baremetalhost.metal3.io/paused"

// pausedRetry is how soon a paused Cluster is read again; owners are watched.
const pausedRetry = 15 * time.Second

// isPaused says that an owner or its Cluster is paused: nothing is created, changed or released for it.
func (r *Reconciler) isPaused(ctx context.Context, o client.Object) (bool, error) {
	for _, name := range []string{metal3.PausedAnnotation, hostPausedAnnotation} {
		if _, yes := o.GetAnnotations()[name]; yes {
			return true, nil
		}
	}
	return cluster.Paused(ctx, runtimeclient.NewReader(r.Reader), types.NamespacedName{Namespace: o.GetNamespace(), Name: clusterOf(o)})
}

// clusterOf is the name of the Cluster that an owner, or its claim, belongs to.
func clusterOf(o client.Object) string {
	if u, ok := o.(*unstructured.Unstructured); ok {
		if name, _, _ := unstructured.NestedString(u.Object, "spec", "clusterName"); name != "" {
			return name
		}
	}
	return o.GetLabels()[metal3.ClusterNameLabel]
}
