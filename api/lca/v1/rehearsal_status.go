package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Rehearsal is the report of a rehearsal: a change that was carried out in a copy of the control plane, while the cluster ran.
type Rehearsal struct {
	// OperationID names the rehearsal.
	// +optional
	OperationID string `json:"operationID,omitempty"`

	// Request is the value of the annotation that requested it; empty where a person did on the node.
	// +optional
	Request string `json:"request,omitempty"`

	// Result sums up the proofs.
	// +required
	Result RehearsalResult `json:"result"`

	// Message says why it ended otherwise than by itself.
	// +optional
	Message string `json:"message,omitempty"`

	// AddressChanges reads "old -> new", one for each family that changes.
	// +optional
	// +listType=atomic
	AddressChanges []string `json:"addressChanges,omitempty"`

	// Started is when it began.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`

	// Finished is when it ended.
	// +optional
	Finished *metav1.Time `json:"finished,omitempty"`

	// Proofs says what was proved, and what was not and why.
	// +optional
	// +listType=map
	// +listMapKey=name
	Proofs []RehearsalProof `json:"proofs,omitempty"`

	// Outage lists what is known of the duration of the outage.
	// +optional
	// +listType=map
	// +listMapKey=part
	Outage []RehearsalOutage `json:"outage,omitempty"`
}

// RehearsalResult sums up a rehearsal.
// +kubebuilder:validation:Enum=Running;Passed;Incomplete;Failed;Aborted
type RehearsalResult string

// The results of a rehearsal.
const (
	RehearsalRunning RehearsalResult = "Running"
	// RehearsalPassed: everything is proved that a rehearsal can prove.
	RehearsalPassed RehearsalResult = "Passed"
	// RehearsalIncomplete: no proof failed, and some could not be tried on this node.
	RehearsalIncomplete RehearsalResult = "Incomplete"
	RehearsalFailed     RehearsalResult = "Failed"
	// RehearsalAborted: it was ended before it had tried everything.
	RehearsalAborted RehearsalResult = "Aborted"
)

// RehearsalProof is one thing that a rehearsal proves, or cannot.
type RehearsalProof struct {
	// Name identifies it, for example kube-apiserver.
	// +required
	Name string `json:"name"`

	// Title says what is to be proved.
	// +optional
	Title string `json:"title,omitempty"`

	// Result is the result.
	// +required
	Result ProofResult `json:"result"`

	// Message says what was found, or why it is not proved.
	// +optional
	Message string `json:"message,omitempty"`

	// Seconds is how long it took, at the lowest priority beside the running cluster.
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
}

// ProofResult is the result of one proof.
// +kubebuilder:validation:Enum=Proved;Failed;NotProved
type ProofResult string

// The results of a proof.
const (
	ProofProved    ProofResult = "Proved"
	ProofFailed    ProofResult = "Failed"
	ProofNotProved ProofResult = "NotProved"
)

// RehearsalOutage is a part of the outage of a change.
type RehearsalOutage struct {
	// Part says what happens meanwhile.
	// +required
	Part string `json:"part"`

	// Seconds is how long it is expected to take; 0 where that is not known.
	// +optional
	Seconds int64 `json:"seconds,omitempty"`

	// Source says where the number comes from, or why there is none.
	// +required
	Source string `json:"source"`
}
