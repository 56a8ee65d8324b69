package netmachineconfig

import (
	"context"
	"fmt"
	"slices"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

// What the operator may do with MachineConfigs; config/rbac is generated from this. RBAC knows no prefix of names: that it writes its own
// only is a promise of the code.
//
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigpools,verbs=list;watch
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationpolicies,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationpolicies/status,verbs=patch
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationpolicies/finalizers,verbs=update

// SetupWithManager adds the controller. Of MachineConfigs, which are large, metadata alone is cached.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	configs := &metav1.PartialObjectMetadata{}
	configs.SetGroupVersionKind(mcv1.GroupVersion.WithKind("MachineConfig"))
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[nmstatev1.PolicyLabel] != "" })
	err := ctrl.NewControllerManagedBy(mgr).Named("netmachineconfig").
		For(&nmstatev1.NodeNetworkConfigurationPolicy{}, builder.WithPredicates(predicate.Or(
			predicate.Predicate(predicate.GenerationChangedPredicate{}), finalizersChanged()))).
		Watches(&mcv1.MachineConfigPool{}, handler.EnqueueRequestsFromMapFunc(r.forPools),
			builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesMetadata(configs, handler.EnqueueRequestsFromMapFunc(ofConfig),
			builder.WithPredicates(ours, predicate.GenerationChangedPredicate{})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("watch network policies for machine config pools: %w", err)
	}
	return nil
}

func finalizersChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
}

func ofConfig(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: o.GetLabels()[nmstatev1.PolicyLabel]}}}
}

// forPools are the policies that are for pools.
func (r *Reconciler) forPools(ctx context.Context, _ client.Object) (requests []reconcile.Request) {
	list := &nmstatev1.NodeNetworkConfigurationPolicyList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		r.Log.Error("list policies", "error", err)
		return nil
	}
	for i := range list.Items {
		if list.Items[i].Spec.MachineConfigPoolSelector != nil {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
		}
	}
	return requests
}
