package ipconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// singleton returns the one IPConfig, or nil after it had to be created or restored, in which case
// the next reconciliation goes on.
func (r *Reconciler) singleton(ctx context.Context) (*lcav1.IPConfig, error) {
	ipc := &lcav1.IPConfig{}
	err := r.Reader.Get(ctx, client.ObjectKey{Name: lcav1.IPConfigName}, ipc)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get ipconfig %s: %w", lcav1.IPConfigName, err)
	}
	saved, serr := r.savedInFlight(ctx)
	if serr != nil {
		return nil, serr
	}
	switch {
	case err != nil:
		return nil, r.create(ctx, saved)
	case saved != nil && orphaned(ipc):
		return nil, r.restore(ctx, ipc, saved)
	}
	return ipc, nil
}

// create makes the object: empty, or as it was saved if an operation is in flight. The API takes a new one
// only with stage Idle and without a DNS filter; restore does the rest.
func (r *Reconciler) create(ctx context.Context, saved *lcav1.IPConfig) error {
	ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}}
	if saved != nil {
		ipc.Labels, ipc.Annotations, ipc.Spec = saved.Labels, saved.Annotations, saved.Spec
		ipc.Spec.DNSFilterOutFamily = ""
	}
	ipc.Spec.Stage = lcav1.StageIdle
	if err := r.Client.Create(ctx, ipc); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ipconfig %s: %w", ipc.Name, err)
	}
	return nil
}

// savedInFlight is the object as exported when the operation now on the node was handed over; nil
// where there is none. A file of another operation is stale and says nothing: what
// happened is told by the journal alone.
func (r *Reconciler) savedInFlight(ctx context.Context) (*lcav1.IPConfig, error) {
	data, err := r.Node.Files.Read(host.SavedIPConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", host.SavedIPConfig, err)
	}
	all, err := r.Node.Deployments.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	request, _, err := ipconfig.FindRequest(r.Node.Files, all)
	if errors.Is(err, ipconfig.ErrNoRequest) || errors.Is(err, ipconfig.ErrBadRequest) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return exportOf(data, request.OperationID), nil
}

// exportOf decodes an export; nil if it is not readable, or not one of this operation.
func exportOf(data []byte, operation string) *lcav1.IPConfig {
	saved := &lcav1.IPConfig{}
	if json.Unmarshal(data, saved) != nil || saved.Status.OperationID != operation || saved.Spec.Stage == lcav1.StageIdle {
		return nil
	}
	return saved
}

// orphaned says that the object knows nothing of an operation: it was created anew, or its
// restoring was cut short.
func orphaned(ipc *lcav1.IPConfig) bool {
	stage := stageOf(ipc.Status.Conditions)
	return ipc.Spec.Stage == lcav1.StageIdle && (stage == "" || isTrue(ipc.Status.Conditions, lcav1.ConditionIdle))
}

// restore brings spec back in place, through the rules of the API: it opens the spec by a status that
// says Idle and allows the saved stage, then writes the spec. Nothing is deleted. Cut short, it
// is done again; the reconciliation after it projects the true status.
func (r *Reconciler) restore(ctx context.Context, ipc, saved *lcav1.IPConfig) error {
	base := ipc.DeepCopy()
	if !slices.Contains(ipc.Status.ValidNextStages, saved.Spec.Stage) || !isTrue(ipc.Status.Conditions, lcav1.ConditionIdle) {
		ipc.Status = *saved.Status.DeepCopy()
		ipc.Status.ValidNextStages = []lcav1.IPConfigStage{saved.Spec.Stage}
		l := conditionList{generation: ipc.Generation, now: r.Now()}
		l.set(lcav1.ConditionIdle, metav1.ConditionTrue, lcav1.ReasonIdle, msgIdle)
		ipc.Status.Conditions = l.items
		if err := r.Client.Status().Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
			return fmt.Errorf("restore status of ipconfig %s: %w", ipc.Name, err)
		}
		base = ipc.DeepCopy()
	}
	ipc.Spec = saved.Spec
	if err := r.Client.Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("restore spec of ipconfig %s: %w", ipc.Name, err)
	}
	return nil
}
