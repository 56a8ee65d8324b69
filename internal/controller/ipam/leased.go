package ipam

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// What the cluster's own metal3 leases; of ConfigMaps only its own.
//
// +kubebuilder:rbac:groups=metal3.io,resources=provisionings,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=ironic;ironic-bmo-configmap;baremetal-operator-ironic;baremetal-operator-ironic-bmo-configmap,verbs=get

// leasedEvery is how often it is read again. It changes with the network of the cluster, if ever.
const leasedEvery = time.Minute

// ironicConfigs are the ConfigMaps in which metal3 keeps the range of its dnsmasq.
func ironicConfigs() (out []types.NamespacedName) {
	for _, namespace := range []string{"baremetal-operator-system", "capm3-system", "metal3"} {
		for _, name := range []string{"ironic", "ironic-bmo-configmap"} {
			out = append(out, types.NamespacedName{Namespace: namespace, Name: name},
				types.NamespacedName{Namespace: namespace, Name: "baremetal-operator-" + name})
		}
	}
	return out
}

// readLeased reads what the cluster's metal3 leases. What cannot be read as a range is in the problems; an operator whose right to read
// it was taken away knows of nothing.
func readLeased(ctx context.Context, from client.Reader) (leased []kinds.Leased, problems []error, err error) {
	take := func(more []kinds.Leased, problem error) {
		leased = append(leased, more...)
		if problem != nil {
			problems = append(problems, problem)
		}
	}
	provisioning := &unstructured.Unstructured{}
	provisioning.SetGroupVersionKind(kinds.ProvisioningKind())
	found, err := getIfExists(ctx, from, types.NamespacedName{Name: kinds.ProvisioningName}, provisioning)
	if err != nil {
		return nil, nil, err
	}
	if found {
		take(kinds.LeasedByProvisioning(provisioning))
	}
	for _, name := range ironicConfigs() {
		config := &corev1.ConfigMap{}
		if found, err = getIfExists(ctx, from, name, config); err != nil {
			return nil, nil, err
		}
		if found {
			take(kinds.LeasedByConfigMap(config))
		}
	}
	return leased, problems, nil
}

// getIfExists reads an object that need not be there, nor its kind.
func getIfExists(ctx context.Context, from client.Reader, name types.NamespacedName, o client.Object) (bool, error) {
	err := from.Get(ctx, name, o)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apimeta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s for what the cluster leases: %w", o, name, err)
	}
	return true, nil
}

// learnLeased reads what the cluster leases, and has pools reconciled if it has changed.
func (r *Reconciler) learnLeased(ctx context.Context) error {
	leased, problems, err := readLeased(ctx, r.Reader)
	if err != nil {
		return err
	}
	for _, problem := range r.ledger.newlyUnreadable(problems) {
		r.Log.Error("what the cluster leases cannot be read", "error", problem)
	}
	pools, changed := r.ledger.setLeased(leased)
	if !changed {
		return nil
	}
	for _, l := range leased {
		r.Log.Info("the cluster leases addresses itself", "range", l.What)
	}
	for _, name := range pools {
		r.requeueWaiting(name, true)
		r.queues.addPool(name)
	}
	return nil
}

// followLeased reads what the cluster leases now and then, until the operator ends.
func (r *Reconciler) followLeased(ctx context.Context) error {
	tick := time.NewTicker(leasedEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := r.learnLeased(ctx); err != nil {
			r.Log.Error("what the cluster leases is unknown", "error", err)
		}
	}
}

// setLeased records what the cluster leases, and returns the pools that are known.
func (l *ledger) setLeased(leased []kinds.Leased) (pools []types.NamespacedName, changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(l.leased, leased) {
		return nil, false
	}
	l.leased = leased
	for name := range l.supplies {
		pools = append(pools, name)
	}
	return pools, true
}

// newlyUnreadable are the problems with what the cluster leases, unless they are those of the last time: it is read every minute.
func (l *ledger) newlyUnreadable(problems []error) []error {
	text := fmt.Sprint(problems)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unreadable == text {
		return nil
	}
	l.unreadable = text
	return problems
}

// leasedConflict says that ranges of a pool are leased by the cluster. Certain is a pool that is on the provisioning network by its
// name; one that names no network may be on it.
func (l *ledger) leasedConflict(s *supply) (certain bool, conflict error) {
	l.mu.Lock()
	leased := l.leased
	l.mu.Unlock()
	return leasedMeets(s.spec, s.object, leased)
}

func leasedMeets(spec ipam.Spec, pool *metal3.IPPool, leased []kinds.Leased) (certain bool, conflict error) {
	certain = pool.Spec.Network == kinds.ProvisioningNetwork
	if !certain && pool.Spec.Network != "" {
		return false, nil
	}
	return certain, kinds.Meets(spec, leased)
}
