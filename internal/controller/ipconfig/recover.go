package ipconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// ensureObject creates a missing object, and restores one that does not know the operation on the node. A lost object is
// never a request: its stage is the one that the node's record implies. It returns true where it wrote.
func (r *Reconciler) ensureObject(ctx context.Context, ipc *lcav1.IPConfig, o observation) (bool, error) {
	switch {
	case ipc == nil:
		return true, r.createObject(ctx, r.recordedObject(o))
	case o.request != nil && isLost(ipc):
		return true, r.restoreObject(ctx, ipc, r.recordedObject(o))
	}
	return false, nil
}

// isLost says that status knows no operation, though one is on the node: the object is new, its status was wiped, or a
// restore was cut short.
func isLost(ipc *lcav1.IPConfig) bool {
	stage := stageOf(ipc.Status.Conditions)
	return stage == "" || meta.IsStatusConditionTrue(ipc.Status.Conditions, lcav1.ConditionIdle)
}

// recordedObject returns the object as the node has it on record: as it was exported to ipc.json when a stage was last accepted or
// ended, or else as request and journal imply. It is nil where the node has no operation.
func (r *Reconciler) recordedObject(o observation) *lcav1.IPConfig {
	if o.request == nil {
		return nil
	}
	if o.exported != nil {
		return o.exported
	}
	auto, err := ipconfig.ReadAutoRollback(r.Node.Files)
	if err != nil {
		r.Log.Warn("automatic rollback is on in the restored ipconfig", "error", err)
	}
	post, err := ipconfig.ReadPostPivot(r.Node.Files)
	if err != nil {
		r.Log.Warn("the restored ipconfig names no recert image", "error", err)
	}
	ipc := o.request.Object(auto, post)
	ipc.Spec.Stage = o.impliedStage()
	ipc.Status.OperationID = o.request.OperationID
	ipc.Status.Conditions = impliedConditions(ipc.Spec.Stage, o.now)
	return ipc
}

// impliedStage is the stage that was last accepted, as far as the journal has it.
func (o observation) impliedStage() lcav1.IPConfigStage {
	switch {
	case o.progress.Cleanup.Begun:
		return lcav1.StageIdle
	case o.progress.Rollback.Begun && strings.HasPrefix(o.progress.Cause, ipconfig.CauseRequested):
		return lcav1.StageRollback
	}
	return lcav1.StageConfig
}

// impliedConditions say that the stage was accepted, and no more: what became of it is derived from the node.
func impliedConditions(stage lcav1.IPConfigStage, now time.Time) []metav1.Condition {
	l := status.NewConditions(nil, 0, now)
	if stage == lcav1.StageIdle {
		l.Set(lcav1.ConditionIdle, metav1.ConditionFalse, lcav1.ReasonInProgress, msgBecomingIdle)
		return l.Items
	}
	l.Set(lcav1.ConditionIdle, metav1.ConditionFalse, lcav1.ReasonConfigurationInProgress, msgConfig)
	l.Set(inProgressType(stage), metav1.ConditionTrue, lcav1.ReasonInProgress, msgConfig)
	return l.Items
}

// createObject makes the object as the record has it, or empty. The API takes a new one only with stage Idle and without a DNS
// filter; restoreObject does the rest.
func (r *Reconciler) createObject(ctx context.Context, record *lcav1.IPConfig) error {
	ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}}
	if record != nil {
		ipc.Labels, ipc.Annotations, ipc.Spec = record.Labels, record.Annotations, *record.Spec.DeepCopy()
		ipc.Spec.DNSFilterOutFamily = ""
	}
	ipc.Spec.Stage = lcav1.StageIdle
	if err := r.Client.Create(ctx, ipc); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ipconfig %s: %w", ipc.Name, err)
	}
	return nil
}

// restoreObject brings spec and status back, through the rules of the API. It never undoes a request: a stage other than Idle
// can only be the user's and stays. Cut short, it is done again.
func (r *Reconciler) restoreObject(ctx context.Context, ipc, record *lcav1.IPConfig) error {
	if ipc.Spec.Stage == lcav1.StageIdle && record.Spec.Stage != lcav1.StageIdle {
		if err := r.restoreSpec(ctx, ipc, record); err != nil {
			return err
		}
	}
	base := ipc.DeepCopy()
	ipc.Status = *record.Status.DeepCopy()
	if err := r.Client.Status().Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("restore status of ipconfig %s: %w", ipc.Name, err)
	}
	r.publishEvent(ctx, ipc, restoredEvent(ipc, r.Now()))
	return nil
}

// restoreSpec unlocks the spec, by a status that says Idle and allows the stage on record, and writes it.
func (r *Reconciler) restoreSpec(ctx context.Context, ipc, record *lcav1.IPConfig) error {
	base := ipc.DeepCopy()
	unlocked := meta.IsStatusConditionTrue(ipc.Status.Conditions, lcav1.ConditionIdle)
	if !unlocked || !slices.Contains(ipc.Status.ValidNextStages, record.Spec.Stage) {
		ipc.Status = *record.Status.DeepCopy()
		ipc.Status.ValidNextStages = []lcav1.IPConfigStage{record.Spec.Stage}
		l := status.NewConditions(nil, ipc.Generation, r.Now())
		l.Set(lcav1.ConditionIdle, metav1.ConditionTrue, lcav1.ReasonIdle, msgIdle)
		ipc.Status.Conditions = l.Items
		if err := r.Client.Status().Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
			return fmt.Errorf("unlock ipconfig %s to restore it: %w", ipc.Name, err)
		}
		base = ipc.DeepCopy()
	}
	ipc.Spec = *record.Spec.DeepCopy()
	if err := r.Client.Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("restore spec of ipconfig %s: %w", ipc.Name, err)
	}
	return nil
}

// isConfirmed says that the change was completed, by status, by its export or by the record of the stateroot.
func (o observation) isConfirmed(ipc *lcav1.IPConfig) bool {
	return meta.IsStatusConditionTrue(ipc.Status.Conditions, lcav1.ConditionConfigCompleted) || o.isProved() ||
		o.exported != nil && meta.IsStatusConditionTrue(o.exported.Status.Conditions, lcav1.ConditionConfigCompleted)
}

// ensureExport keeps ipc.json in line with what was accepted and what ended, for as long as an operation is on the node.
// It is advice where it cannot be written: request and journal imply most of it.
func (r *Reconciler) ensureExport(ipc *lcav1.IPConfig, o observation) {
	if o.request == nil || ipc.Status.OperationID != o.request.OperationID || o.exported != nil && sameRecord(o.exported, ipc) {
		return
	}
	if err := r.exportObject(ipc); err != nil {
		r.Log.Warn("the ipconfig could not be exported", "op", ipc.Status.OperationID, "error", err)
	}
}

// ensureRecord completes the record of the stateroot that runs: where one of its copies was lost, and where an earlier version
// made the change that stands there.
func (r *Reconciler) ensureRecord(o observation) {
	request := ipconfig.Request{}
	if o.request != nil {
		request = *o.request
	}
	if err := ipconfig.EnsureRecord(r.Node.Files, o.deployments, request, o.now); err != nil {
		r.Log.Warn("the record of the stateroot that runs is not complete", "stateroot", o.booted.Stateroot, "error", err)
	}
}

// sameRecord compares what a restore would bring back; what is projected anew is left out.
func sameRecord(a, b *lcav1.IPConfig) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && maps.Equal(a.Annotations, b.Annotations) && maps.Equal(a.Labels, b.Labels) &&
		len(a.Status.Conditions) == len(b.Status.Conditions) && len(status.Changed(a.Status.Conditions, b.Status.Conditions)) == 0
}

// exportObject writes the object to ipc.json.
func (r *Reconciler) exportObject(ipc *lcav1.IPConfig) error {
	out := ipc.DeepCopy()
	out.APIVersion, out.Kind = lcav1.GroupVersion.String(), "IPConfig"
	out.ManagedFields, out.ResourceVersion, out.UID = nil, "", ""
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", ipconfig.SavedObjectFile, err)
	}
	if err := r.Node.Files.Write(ipconfig.SavedObjectFile, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", ipconfig.SavedObjectFile, err)
	}
	return nil
}
