package ipconfig

import "time"

// Names of the flows, as journals store them. The first two double as phases in status.history.
const (
	FlowPrePivot  = "pre-pivot"
	FlowPostPivot = "post-pivot"
	FlowRollback  = "rollback"
	FlowCleanup   = "cleanup"
)

// Step names, as journals store them.
const (
	StepCollect       = "collect-inputs"
	StepFetchImage    = "fetch-recert-image"
	StepClone         = "clone-stateroot"
	StepCopyLive      = "copy-while-running"
	StepQuiesce       = "quiesce"
	StepCopyFinal     = "copy-final"
	StepFurnish       = "furnish"
	StepUnits         = "install-units"
	StepArm           = "arm-watchdog"
	StepSeal          = "seal"
	StepFlip          = "flip-default"
	StepReboot        = "reboot"
	StepCheckSeal     = "check-seal"
	StepApplyNetwork  = "apply-network"
	StepRecert        = "recert"
	StepStartKubelet  = "start-kubelet"
	StepWaitAPI       = "wait-for-api"
	StepProveNetwork  = "prove-network"
	StepWaitNode      = "wait-for-node"
	StepWipe          = "wipe-secrets"
	StepRunProbes     = "run-probes"
	StepStopPostPivot = "stop-post-pivot"
	StepEvidence      = "collect-evidence"
	StepHandBack      = "hand-back-journal"
	StepFlipBack      = "flip-back"
	StepSettle        = "settle-unfinished"
	StepRemoveOthers  = "remove-stateroots"
	StepRemoveFiles   = "remove-workspace"
)

// Limits of the flows.
const (
	maxAttemptsPrePivot  = 3
	maxAttemptsPostPivot = 5
	// apiTimeout is how long post-pivot waits for the API before it counts as failed.
	apiTimeout = 15 * time.Minute
	// nodeTimeout is how long kubelet may take to report the node Ready, once the API answers.
	nodeTimeout = 15 * time.Minute
	// proofTimeout is how long a new network may take until gateway and DNS answer.
	proofTimeout = 90 * time.Second
	// tryTimeout bounds a single question to the API server or the network.
	tryTimeout = 10 * time.Second
)
