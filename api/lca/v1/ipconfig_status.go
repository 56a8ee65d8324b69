package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPConfigStatus is what the agent observes on the node and in its journal.
// Only the operator writes it. It carries no validation rules beyond types, so
// that no observation can be refused.
type IPConfigStatus struct {
	// ObservedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions report what the agent is doing. The last one is the most recent;
	// the list is replaced as a whole so that this order is kept.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ValidNextStages lists the stages that spec.stage may be changed to. Absent
	// or empty means that no change is allowed now.
	// +kubebuilder:validation:MaxItems=3
	// +listType=atomic
	// +optional
	ValidNextStages []IPConfigStage `json:"validNextStages,omitempty"`

	// RollbackAvailabilityExpiration is the time from which a rollback may need
	// manual recovery, because certificates in the previous stateroot expire.
	// +optional
	RollbackAvailabilityExpiration *metav1.Time `json:"rollbackAvailabilityExpiration,omitempty"`

	// IPv4 is the node's observed IPv4 configuration.
	// +optional
	IPv4 *IPStatus `json:"ipv4,omitempty"`

	// IPv6 is the node's observed IPv6 configuration.
	// +optional
	IPv6 *IPStatus `json:"ipv6,omitempty"`

	// DNSServers lists the node's observed DNS servers in order.
	// +listType=atomic
	// +optional
	DNSServers []string `json:"dnsServers,omitempty"`

	// VLANID is the VLAN of the uplink of br-ex; absent when untagged.
	// +optional
	VLANID int32 `json:"vlanID,omitempty"`

	// DNSFilterOutFamily is the family that DNS answers leave out, as observed.
	// +optional
	DNSFilterOutFamily DNSFilterFamily `json:"dnsFilterOutFamily,omitempty"`

	// History records when stages and their phases started and ended since the
	// object was last Idle.
	// +listType=atomic
	// +optional
	History []StageHistory `json:"history,omitempty"`

	// OperationID names the change that is running or was the last to run. It is
	// the same in the journal, the logs and the name of the stateroot.
	// +optional
	OperationID string `json:"operationID,omitempty"`

	// Preflight lists what was checked before the change.
	// +listType=atomic
	// +optional
	Preflight []PreflightCheck `json:"preflight,omitempty"`

	// Plan summarizes what the change is going to do.
	// +optional
	Plan *PlanSummary `json:"plan,omitempty"`

	// Step is the step that is running, or at which the change stopped.
	// +optional
	Step *StepStatus `json:"step,omitempty"`

	// Recert summarizes what was done to certificates and addresses inside the
	// cluster, and where the report is. It contains no secret.
	// +optional
	Recert string `json:"recert,omitempty"`

	// Rehearsal is the report of the latest rehearsal on this node.
	// +optional
	Rehearsal *Rehearsal `json:"rehearsal,omitempty"`

	// Evidence lists paths on the node where the journal and, after a failure,
	// the collected logs are kept.
	// +listType=atomic
	// +optional
	Evidence []string `json:"evidence,omitempty"`
}

// IPStatus is the observed configuration of the node in one address family.
type IPStatus struct {
	// Address is the node's address, without prefix length.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Address string `json:"address,omitempty"`

	// MachineNetwork is the cluster's machine network, in CIDR notation.
	// +optional
	MachineNetwork string `json:"machineNetwork,omitempty"`

	// PrefixLength is that of the address as the network card has it. It can differ from that of the machine network, which
	// the installer makes 10.0.0.0/16 unless it is told otherwise. 0 where it is not known.
	// +optional
	PrefixLength int32 `json:"prefixLength,omitempty"`

	// Gateway is the default gateway.
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// StageHistory records one run of a stage.
type StageHistory struct {
	// Stage is the stage that ran.
	// +required
	Stage IPConfigStage `json:"stage"`

	// StartTime is when the stage was accepted.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when it ended, in success or failure; absent while it
	// runs.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// Phases records the parts of the stage.
	// +listType=atomic
	// +optional
	Phases []PhaseHistory `json:"phases,omitempty"`
}

// PhaseHistory records one phase of a stage.
type PhaseHistory struct {
	// Phase is the name of the phase, for example pre-pivot.
	// +required
	Phase string `json:"phase"`

	// StartTime is when the phase started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// CompletionTime is when it ended; absent while it runs.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// PreflightSeverity says what a failed check means for the change.
//
// +kubebuilder:validation:Enum=Blocking;Warning
type PreflightSeverity string

// Severities of a preflight check.
const (
	// PreflightBlocking means that a failed check refuses the change.
	PreflightBlocking PreflightSeverity = "Blocking"

	// PreflightWarning means that a failed check is reported and the change
	// continues.
	PreflightWarning PreflightSeverity = "Warning"
)

// PreflightResult is the result of a check.
//
// +kubebuilder:validation:Enum=Passed;Failed;Unknown
type PreflightResult string

// Results of a preflight check.
const (
	// PreflightPassed means that there is no problem.
	PreflightPassed PreflightResult = "Passed"

	// PreflightFailed means that there is a problem; the message names it.
	PreflightFailed PreflightResult = "Failed"

	// PreflightUnknown means that the check could not be made; the message says why. It
	// never refuses the change.
	PreflightUnknown PreflightResult = "Unknown"
)

// PreflightCheck is the result of one check made before the change.
type PreflightCheck struct {
	// Name identifies the check, for example address-in-use.
	// +required
	Name string `json:"name"`

	// Severity says what failing means.
	// +required
	Severity PreflightSeverity `json:"severity"`

	// Result is the result of the check.
	// +required
	Result PreflightResult `json:"result"`

	// Message says what was found.
	// +optional
	Message string `json:"message,omitempty"`

	// Hint says what to do about it when the check failed.
	// +optional
	Hint string `json:"hint,omitempty"`
}

// PlanSummary says what a change is going to do.
type PlanSummary struct {
	// Stateroot is the name of the stateroot that is going to be created.
	// +optional
	Stateroot string `json:"stateroot,omitempty"`

	// DiskBytes is how much free space the new stateroot needs, in bytes.
	// +optional
	DiskBytes int64 `json:"diskBytes,omitempty"`

	// ExpectedOutageSeconds is how long the cluster is expected to be
	// unavailable, in seconds.
	// +optional
	ExpectedOutageSeconds int64 `json:"expectedOutageSeconds,omitempty"`

	// Certificates is how many certificates are re-issued.
	// +optional
	Certificates int32 `json:"certificates,omitempty"`

	// Objects is how many cluster objects are rewritten.
	// +optional
	Objects int32 `json:"objects,omitempty"`

	// Files is how many files on the node are rewritten.
	// +optional
	Files int32 `json:"files,omitempty"`

	// Warnings lists certificates that keep an old address, and objects that
	// bring it back once the cluster runs: what needs attention, and is no
	// reason to refuse the change.
	// +listType=atomic
	// +optional
	Warnings []string `json:"warnings,omitempty"`

	// NMState is the network state document that is going to be applied.
	// +optional
	NMState string `json:"nmstate,omitempty"`

	// UplinkExtras says of each other address and static route of the uplink
	// whether the change keeps it, and why not.
	// +listType=atomic
	// +optional
	UplinkExtras []string `json:"uplinkExtras,omitempty"`
}

// StepStatus says where in its list of steps a change is.
type StepStatus struct {
	// Name is the name of the step as in the journal.
	// +required
	Name string `json:"name"`

	// Index is the position of the step, counted from 1.
	// +optional
	Index int32 `json:"index,omitempty"`

	// Total is the number of steps.
	// +optional
	Total int32 `json:"total,omitempty"`

	// StartTime is when the step started.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// Message is the title of the step, or its failure.
	// +optional
	Message string `json:"message,omitempty"`
}
