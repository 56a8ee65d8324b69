package netpolicy

import (
	"fmt"
	"sync/atomic"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

// later are kinds that may be served only after the operator started.
type later struct {
	// pools is set where the cluster has machine config pools, claims where it has address pools of ipam.metal3.io.
	pools, claims atomic.Bool
	watches       controller.Controller
	// wake has all policies reconciled.
	wake chan event.GenericEvent
}

// ServePools begins to watch machine config pools, once the cluster has them.
func (r *Reconciler) ServePools(mgr ctrl.Manager) error {
	changed := predicate.Or(predicate.Predicate(predicate.GenerationChangedPredicate{}), predicate.LabelChangedPredicate{})
	pools := source.Kind[client.Object](mgr.GetCache(), &mcv1.MachineConfigPool{}, delayed(r.all), changed)
	if err := r.later.watches.Watch(pools); err != nil {
		return fmt.Errorf("watch machine config pools: %w", err)
	}
	r.later.begin(&r.later.pools)
	return nil
}

// ServeClaims begins to claim addresses for nodes, once the cluster has the kinds for that.
func (r *Reconciler) ServeClaims(mgr ctrl.Manager) error {
	claims := source.Kind[client.Object](mgr.GetCache(), &metal3.IPClaim{}, delayed(ofClaim))
	if err := r.later.watches.Watch(claims); err != nil {
		return fmt.Errorf("watch claims of addresses: %w", err)
	}
	r.later.begin(&r.later.claims)
	return nil
}

// begin has every policy reconciled with the new kind: some may wait for it.
func (l *later) begin(served *atomic.Bool) {
	served.Store(true)
	l.wake <- event.GenericEvent{Object: &nmstatev1.NodeNetworkConfigurationPolicy{}}
}
