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

// reconcile serves one owner.
func (r *Reconciler) reconcile(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (ctrl.Result, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	err := r.cached().Get(ctx, name, o)
	if apierrors.IsNotFound(err) {
		return r.release(ctx, gvk, name)
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read %s %s: %w", gvk.Kind, name, err)
	}
	if len(o.GetAnnotations()[NetworksAnnotation]) == 0 && o.GetDeletionTimestamp() == nil {
		return ctrl.Result{}, nil
	}
	if paused, err := r.paused(ctx, o); err != nil || paused {
		return ctrl.Result{RequeueAfter: pausedRetry}, err
	}
	if o.GetDeletionTimestamp() != nil {
		return r.release(ctx, gvk, name)
	}
	wanted, err := links(o)
	if err != nil {
		r.warn(o, "InvalidNetworks", err.Error())
		return ctrl.Result{}, nil
	}
	if len(wanted) == 0 {
		return ctrl.Result{}, nil
	}
	err = r.serve(ctx, o, wanted)
	if errors.Is(err, errNoBase) {
		return ctrl.Result{RequeueAfter: baseRetry}, nil // Secrets are not watched
	}
	return ctrl.Result{}, err
}

// serve makes the claims of an owner and, once they are served, its Secret.
func (r *Reconciler) serve(ctx context.Context, o *unstructured.Unstructured, wanted []link) error {
	h, err := r.hostFor(ctx, o)
	if err != nil {
		return err
	}
	var got []served
	complete := true
	for _, l := range wanted {
		s := served{link: l}
		for _, pool := range l.pools {
			lease, ok, err := r.claim(ctx, o, h, l, pool)
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
	if err := h.find(got); err != nil {
		if h != nil && len(h.nics) > 0 { // a host that is chosen and inspected lacks it
			r.warn(o, "NoInterfaceOfRole", err.Error())
		}
		return nil // hosts are watched
	}
	if err := r.publish(ctx, o, h, got); err != nil {
		return err
	}
	return r.judge(ctx, o, h)
}

// hostFor is the BareMetalHost that serves an owner; nil while there is none.
func (r *Reconciler) hostFor(ctx context.Context, o *unstructured.Unstructured) (*host, error) {
	if o.GroupVersionKind() == HostKind() {
		return hostOf(o), nil
	}
	consumers := []consumer{itself(o)}
	if machine, ok := infrastructure(o); ok {
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
		if serves(&h, o) {
			return hostOf(&h), nil
		}
	}
	return nil, nil
}

// hostsWith are the hosts in the cache that name one of them as their consumer; none while the cluster has no such kind.
func (r *Reconciler) hostsWith(ctx context.Context, any ...consumer) (hosts []unstructured.Unstructured, err error) {
	if !r.serves(HostKind()) {
		return nil, nil
	}
	for _, c := range any {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(HostKind())
		if err := r.cached().List(ctx, list, client.MatchingFields{byConsumer: c.key()}); err != nil {
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
	if !found || !r.serves(HostKind()) {
		return nil, nil
	}
	h := object(HostKind())
	if err := r.cached().Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, h); err != nil {
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

func (r *Reconciler) warn(on client.Object, reason, note string) {
	r.Events.Eventf(on, nil, corev1.EventTypeWarning, reason, "Configure", "%s", status.ClipNote(note))
}
