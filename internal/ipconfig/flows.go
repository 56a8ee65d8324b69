package ipconfig

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Names of the flows, as journals store them. The first two double as phases in status.history.
const (
	FlowPrePivot  = "pre-pivot"
	FlowPostPivot = "post-pivot"
	FlowRollback  = "rollback"
	FlowCleanup   = "cleanup"
)

// Flows lists the flows of an IP change, whose records belong together.
func Flows() []string {
	return []string{FlowPrePivot, FlowPostPivot, FlowRollback, FlowCleanup}
}

// Step names, as journals store them: this package's own, and those of the step libraries that others refer to.
const (
	StepCollect       = "collect-inputs"
	StepFetchImage    = "fetch-recert-image"
	StepPrepareBoot   = stateroot.StepPrepareBoot
	StepClone         = stateroot.StepClone
	StepCopyLive      = stateroot.StepCopyLive
	StepQuiesce       = stateroot.StepQuiesce
	StepCopyFinal     = stateroot.StepCopyFinal
	StepFurnish       = "furnish"
	StepUnits         = "install-units"
	StepArm           = "arm-watchdog"
	StepSeal          = stateroot.StepSeal
	StepFlip          = stateroot.StepFlip
	StepReboot        = stateroot.StepReboot
	StepCheckSeal     = stateroot.StepCheckSeal
	StepApplyNetwork  = bringup.StepApplyNetwork
	StepRecert        = bringup.StepRecert
	StepStartKubelet  = bringup.StepStartKubelet
	StepWaitAPI       = bringup.StepWaitAPI
	StepProveNetwork  = bringup.StepProveNetwork
	StepWaitNode      = bringup.StepWaitNode
	StepRunProbes     = bringup.StepRunProbes
	StepKeepDefault   = stateroot.StepKeepDefault
	StepDisarm        = "disarm-watchdog"
	StepWipe          = "wipe-secrets"
	StepStopPostPivot = "stop-post-pivot"
	StepEvidence      = "collect-evidence"
	StepHandBack      = "hand-back-journal"
	StepFlipBack      = stateroot.StepFlipBack
	StepSettle        = "settle-unfinished"
	StepRemoveOthers  = stateroot.StepRemove
	StepRemoveFiles   = "remove-workspace"
)
