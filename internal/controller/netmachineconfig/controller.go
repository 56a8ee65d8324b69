// Package netmachineconfig writes the MachineConfigs of network policies for machine config pools, as the machine config operator's own
// controllers do for a KubeletConfig: one MachineConfig for each selected pool, with the pool's role as label and the policy as owner,
// removed when the pool is not selected any longer or the policy is deleted.
//
// The MachineConfig carries the document to the nodes, at the pace of the pool. When a node has it, internal/controller/netpolicy lets the
// node apply it, live. internal/controller sets it up. It imports no other controller, and nothing of the host.
package netmachineconfig

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// Finalizer keeps a policy until its MachineConfigs are deleted.
const Finalizer = "lca.openshift.io/machineconfigs"

// takenRetry is how soon a name is tried again that another MachineConfig has.
const takenRetry = time.Minute

// Options are what the controller is given.
type Options struct {
	// Client reads from a cache and writes; Reader reads past the cache.
	Client client.Client
	Reader client.Reader
	Events events.EventRecorder
	Log    *slog.Logger
	Now    func() time.Time
}

// Reconciler writes MachineConfigs.
type Reconciler struct{ Options }

// Reconcile brings the MachineConfigs of one policy in line with it.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	policy := &nmstatev1.NodeNetworkConfigurationPolicy{}
	if err := r.Client.Get(ctx, request.NamespacedName, policy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	has := controllerutil.ContainsFinalizer(policy, Finalizer)
	wants := policy.Spec.MachineConfigPoolSelector != nil && policy.DeletionTimestamp == nil
	if !has && !wants {
		return ctrl.Result{}, nil
	}
	if !has {
		return ctrl.Result{}, r.changeFinalizer(ctx, policy, controllerutil.AddFinalizer)
	}
	wanted, refused, err := r.desiredConfigs(ctx, policy)
	if err != nil {
		return ctrl.Result{}, err
	}
	again := ctrl.Result{}
	if refused == "" {
		if refused, err = r.writeConfigs(ctx, policy, wanted); err != nil {
			return ctrl.Result{}, err
		}
		if refused != "" {
			again.RequeueAfter = takenRetry // a MachineConfig without the policy's label is not watched
		}
	}
	if !wants {
		return ctrl.Result{}, r.leavePolicy(ctx, policy)
	}
	return again, r.reportStatus(ctx, policy, wanted, refused)
}

// desiredConfigs are the MachineConfigs that there should be, or why there can be none.
func (r *Reconciler) desiredConfigs(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy,
) ([]*mcv1.MachineConfig, string, error) {
	if policy.DeletionTimestamp != nil || policy.Spec.MachineConfigPoolSelector == nil {
		return nil, "", nil
	}
	selector, err := metav1.LabelSelectorAsSelector(policy.Spec.MachineConfigPoolSelector)
	if err != nil {
		return nil, "spec.machineConfigPoolSelector: " + err.Error(), nil //nolint:nilerr // what the user wrote is told, not tried again
	}
	list := &mcv1.MachineConfigPoolList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, "", fmt.Errorf("list machine config pools: %w", err)
	}
	var document []byte
	if policy.Spec.DesiredState != nil {
		document = policy.Spec.DesiredState.Raw
	}
	var wanted []*mcv1.MachineConfig
	for i := range list.Items {
		if selector.Empty() || !selector.Matches(labels.Set(list.Items[i].Labels)) {
			continue
		}
		mc, err := machineconfig.Document(list.Items[i].Name, policy.Name, document)
		if err != nil {
			return nil, err.Error(), nil //nolint:nilerr // as above
		}
		mc.Labels[nmstatev1.PolicyLabel] = policy.Name
		mc.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(policy, nmstatev1.GroupVersion.WithKind("NodeNetworkConfigurationPolicy")),
		}
		wanted = append(wanted, mc)
	}
	slices.SortFunc(wanted, func(a, b *mcv1.MachineConfig) int { return strings.Compare(a.Name, b.Name) })
	return wanted, "", nil
}

// writeConfigs creates, corrects and deletes MachineConfigs of the policy. One of another owner stays as it is; refused names it, if
// the policy needs its name.
func (r *Reconciler) writeConfigs(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, wanted []*mcv1.MachineConfig,
) (refused string, err error) {
	have := &mcv1.MachineConfigList{}
	if err := r.Reader.List(ctx, have, client.MatchingLabels{nmstatev1.PolicyLabel: policy.Name}); err != nil {
		return "", fmt.Errorf("list the MachineConfigs of policy %s: %w", policy.Name, err)
	}
	for _, mc := range wanted {
		i := slices.IndexFunc(have.Items, func(h mcv1.MachineConfig) bool { return h.Name == mc.Name })
		switch {
		case i < 0:
			err = r.createConfig(ctx, policy, mc)
		case !metav1.IsControlledBy(&have.Items[i], policy):
			refused = ownedByAnother(mc.Name)
		default:
			err = r.correctConfig(ctx, policy, &have.Items[i], mc)
		}
		if apierrors.IsAlreadyExists(err) { // without the policy's label
			refused, err = ownedByAnother(mc.Name), nil
		}
		if err != nil {
			return "", err
		}
	}
	return refused, r.deleteUnwanted(ctx, policy, have, wanted)
}

func ownedByAnother(name string) string {
	return "MachineConfig " + name + " exists and is not this policy's; delete it or rename the policy"
}

func (r *Reconciler) createConfig(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, mc *mcv1.MachineConfig) error {
	if err := r.Client.Create(ctx, mc.DeepCopy()); err != nil {
		return fmt.Errorf("create MachineConfig %s of policy %s: %w", mc.Name, policy.Name, err)
	}
	r.emitChange(policy, "MachineConfigCreated", mc.Name)
	return nil
}

func (r *Reconciler) correctConfig(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, is, mc *mcv1.MachineConfig,
) error {
	if bytes.Equal(is.Spec.Config.Raw, mc.Spec.Config.Raw) && is.Labels[machineconfig.RoleLabel] == mc.Labels[machineconfig.RoleLabel] {
		return nil
	}
	before := is.DeepCopy()
	is.Spec, is.Labels[machineconfig.RoleLabel] = mc.Spec, mc.Labels[machineconfig.RoleLabel]
	if err := r.Client.Patch(ctx, is, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("update MachineConfig %s of policy %s: %w", mc.Name, policy.Name, err)
	}
	r.emitChange(policy, "MachineConfigUpdated", mc.Name)
	return nil
}

// deleteUnwanted deletes the policy's MachineConfigs that are not wanted any longer.
func (r *Reconciler) deleteUnwanted(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, have *mcv1.MachineConfigList, wanted []*mcv1.MachineConfig,
) error {
	for i := range have.Items {
		mc := &have.Items[i]
		if !metav1.IsControlledBy(mc, policy) ||
			slices.ContainsFunc(wanted, func(w *mcv1.MachineConfig) bool { return w.Name == mc.Name }) {
			continue
		}
		if err := r.Client.Delete(ctx, mc); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete MachineConfig %s of policy %s: %w", mc.Name, policy.Name, err)
		}
		r.emitChange(policy, "MachineConfigDeleted", mc.Name)
	}
	return nil
}

// leavePolicy ends the controller's part in a policy that is deleted, or is for nodes now: its status says nothing of MachineConfigs then.
func (r *Reconciler) leavePolicy(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy) error {
	if policy.DeletionTimestamp == nil {
		after := policy.DeepCopy()
		after.Status.Conditions = condition.Put(policy.Status.Conditions, nmstatev1.Condition{Type: nmstatev1.PolicyAccepted}, r.Now())
		after.Status.MachineConfigs = nil
		if err := r.patchStatus(ctx, policy, after); err != nil {
			return err
		}
		policy = after
	}
	return r.changeFinalizer(ctx, policy, controllerutil.RemoveFinalizer)
}

func (r *Reconciler) patchStatus(ctx context.Context, before, after *nmstatev1.NodeNetworkConfigurationPolicy) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, after, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the status of policy %s: %w", before.Name, err)
	}
	return nil
}

func (r *Reconciler) changeFinalizer(
	ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, change func(client.Object, string) bool,
) error {
	before := policy.DeepCopy()
	change(policy, Finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.Client.Patch(ctx, policy, patch)); err != nil {
		return fmt.Errorf("write the finalizers of policy %s: %w", policy.Name, err)
	}
	return nil
}

// reportStatus writes the condition Accepted and the names of the MachineConfigs, beside what netpolicy writes.
func (r *Reconciler) reportStatus(
	ctx context.Context,
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	wanted []*mcv1.MachineConfig,
	refused string,
) error {
	names := make([]string, 0, len(wanted))
	for _, mc := range wanted {
		names = append(names, mc.Name)
	}
	accepted := nmstatev1.Condition{
		Type:    nmstatev1.PolicyAccepted,
		Status:  metav1.ConditionTrue,
		Reason:  nmstatev1.ReasonMachineConfigWritten,
		Message: "Success: " + strings.Join(names, ", "),
	}
	if refused == "" && len(wanted) == 0 {
		refused = "spec.machineConfigPoolSelector does not match any MachineConfigPools; an empty selector matches none"
	}
	if refused != "" {
		accepted.Status, accepted.Reason, accepted.Message = metav1.ConditionFalse, nmstatev1.ReasonMachineConfigRefused, "Error: "+refused
	}
	after := policy.DeepCopy()
	after.Status.Conditions = condition.Summarize(condition.Put(policy.Status.Conditions, accepted, r.Now()), r.Now())
	after.Status.MachineConfigs, after.Status.ObservedGeneration = names, policy.Generation
	if len(names) == 0 {
		after.Status.MachineConfigs = nil
	}
	if condition.Same(policy.Status.Conditions, after.Status.Conditions) &&
		policy.Status.ObservedGeneration == after.Status.ObservedGeneration &&
		slices.Equal(policy.Status.MachineConfigs, after.Status.MachineConfigs) {
		return nil
	}
	if err := r.patchStatus(ctx, policy, after); err != nil {
		return err
	}
	if refused != "" && !isReported(policy.Status.Conditions, accepted) {
		r.Events.Eventf(policy, nil, corev1.EventTypeWarning, nmstatev1.ReasonMachineConfigRefused, "Render", "%s",
			status.ClipNote(refused))
	}
	return nil
}

// isReported says that the status has this very refusal already, whatever else of it has changed since.
func isReported(before []nmstatev1.Condition, refusal nmstatev1.Condition) bool {
	return slices.ContainsFunc(before, func(c nmstatev1.Condition) bool {
		return c.Type == refusal.Type && c.Status == refusal.Status && c.Reason == refusal.Reason && c.Message == refusal.Message
	})
}

func (r *Reconciler) emitChange(policy *nmstatev1.NodeNetworkConfigurationPolicy, reason, name string) {
	r.Log.Info("machine config of a network policy", "policy", policy.Name, "machineConfig", name, "event", reason)
	r.Events.Eventf(policy, nil, corev1.EventTypeNormal, reason, "Render", "%s", status.ClipNote(name))
}
