package v1

// Types of the conditions in IPConfig.status.conditions. At most one condition
// of each type exists. Their order is part of the API: the last one is the most
// recent, and the State and Details columns show its reason and message.
const (
	// ConditionIdle is True when nothing is in progress and the spec may be
	// changed; False with ReasonInProgress while the agent returns to Idle.
	ConditionIdle = "Idle"

	// ConditionConfigInProgress is True while an address change runs.
	ConditionConfigInProgress = "ConfigInProgress"

	// ConditionConfigCompleted is True when an address change has succeeded and
	// False when it has failed.
	ConditionConfigCompleted = "ConfigCompleted"

	// ConditionRollbackInProgress is True while the node returns to its previous
	// stateroot.
	ConditionRollbackInProgress = "RollbackInProgress"

	// ConditionRollbackCompleted is True when a rollback has succeeded and False
	// when it has failed.
	ConditionRollbackCompleted = "RollbackCompleted"

	// ConditionNodeObserved is False while the node cannot be observed: status
	// then shows what was observed last. It is True once the node is observed
	// again, and absent where observation never failed. It stays at the beginning
	// of the list, because it is about no stage.
	ConditionNodeObserved = "NodeObserved"
)

// Types of the conditions that sum an object of any kind up, for programs that know none: Flux, Helm and others judge by them (kstatus
// of sigs.k8s.io/cli-utils). Each is there while it is True, at the beginning of the list. Where neither is, and
// status.observedGeneration is the object's generation, what was asked for is done.
const (
	// ConditionReconciling is True while the object changes, or waits for something that comes by itself.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True where it has failed, or waits for a person.
	ConditionStalled = "Stalled"
)

// Reasons used in conditions.
const (
	// ReasonIdle goes with Idle=True.
	ReasonIdle = "Idle"

	// ReasonInProgress marks a stage that is being worked on.
	ReasonInProgress = "InProgress"

	// ReasonConfigurationInProgress goes with Idle=False during stage Config.
	ReasonConfigurationInProgress = "ConfigurationInProgress"

	// ReasonCompleted marks a stage that has succeeded.
	ReasonCompleted = "Completed"

	// ReasonFailed marks a stage that has failed; the message says why.
	ReasonFailed = "Failed"

	// ReasonInvalidTransition marks a requested stage that is not allowed now. It
	// is not a failure of the stage and is cleared by the next valid request.
	ReasonInvalidTransition = "InvalidTransition"

	// ReasonBlocked marks a stage that waits for another operation on the node,
	// such as an image based upgrade.
	ReasonBlocked = "Blocked"

	// ReasonObserved goes with NodeObserved=True.
	ReasonObserved = "Observed"

	// ReasonNotObserved goes with NodeObserved=False; the message says why.
	ReasonNotObserved = "NotObserved"
)

// Phases recorded in IPConfig.status.history.
const (
	// PhasePrePivot is the part of Config that runs in the old stateroot.
	PhasePrePivot = "pre-pivot"

	// PhasePostPivot is the part of Config that runs in the new stateroot.
	PhasePostPivot = "post-pivot"

	// PhaseRollbackPrePivot is the part of Rollback before the reboot.
	PhaseRollbackPrePivot = "RollbackPrePivot"

	// PhaseRollbackPostPivot is the part of Rollback after the reboot.
	PhaseRollbackPostPivot = "RollbackPostPivot"
)
