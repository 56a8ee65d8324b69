package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

// Types of an enactment's conditions.
const (
	EnactmentAvailable   = "Available"
	EnactmentFailing     = "Failing"
	EnactmentProgressing = "Progressing"
	EnactmentPending     = "Pending"
	EnactmentAborted     = "Aborted"
)

// Reasons of an enactment's conditions.
const (
	ReasonSuccessfullyConfigured     = "SuccessfullyConfigured"
	ReasonFailedToConfigure          = "FailedToConfigure"
	ReasonRetrying                   = "Retrying"
	ReasonConfigurationProgressing   = "ConfigurationProgressing"
	ReasonMaxUnavailableLimitReached = "MaxUnavailableLimitReached"
	ReasonConfigurationAborted       = "ConfigurationAborted"
)

// Reasons of the condition Pending that are not in kubernetes-nmstate, which calls every wait MaxUnavailableLimitReached.
const (
	// ReasonAwaitingOperator: the operator has not looked at the present generation of the policy yet.
	ReasonAwaitingOperator = "AwaitingOperator"
	// ReasonOperatorNotRunning: no operator renews its lease.
	ReasonOperatorNotRunning = "OperatorNotRunning"
	// ReasonRolloutHeld: the roll-out waits for a canary, an approval, a person, or another agent.
	ReasonRolloutHeld = "RolloutHeld"
	// ReasonNodeBusy: the node applies another policy.
	ReasonNodeBusy = "NodeBusy"
	// ReasonValueMissing: a template value of the node is missing.
	ReasonValueMissing = "ValueMissing"
	// ReasonNetworkComingUp: the network of this boot may still be coming up.
	ReasonNetworkComingUp = "NetworkComingUp"
)

// MetaInfo says when, and by what program, a state was computed.
type MetaInfo struct {
	// Version of the program.
	// +optional
	Version string `json:"version,omitempty"`
	// Time of the computation.
	// +optional
	Time metav1.Time `json:"time,omitempty,omitzero"`
}

// CapturedState is what a capture of the policy found on the node.
type CapturedState struct {
	// State that the capture selected.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	State *runtime.RawExtension `json:"state,omitempty"`
	// MetaInfo says when.
	// +optional
	MetaInfo MetaInfo `json:"metaInfo,omitempty,omitzero"`
}

// Disruption is the worst that a change does to traffic.
//
// +kubebuilder:validation:Enum=None;Reapply;Reactivate;Recreate
type Disruption string

// Values of Disruption, mildest first.
const (
	// DisruptionNone changes nothing.
	DisruptionNone Disruption = "None"
	// DisruptionReapply changes links that stay up.
	DisruptionReapply Disruption = "Reapply"
	// DisruptionReactivate takes links down and up again.
	DisruptionReactivate Disruption = "Reactivate"
	// DisruptionRecreate removes or creates links.
	DisruptionRecreate Disruption = "Recreate"
)

// Plan is what applying the policy would change on the node, computed before it starts.
type Plan struct {
	// Changes, one for each key that would change.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Changes []Change `json:"changes,omitempty"`
	// Omitted counts changes beyond those that are listed.
	// +optional
	Omitted int `json:"omitted,omitempty"`
	// Disruption is the worst that the changes do to traffic.
	// +optional
	Disruption Disruption `json:"disruption,omitempty"`
	// TouchesPrimary is set where an interface or route is changed that the node reaches the API server over.
	// +optional
	TouchesPrimary bool `json:"touchesPrimary,omitempty"`
	// Time of the computation.
	// +optional
	Time metav1.Time `json:"time,omitempty,omitzero"`
}

// Change is one key that changes.
type Change struct {
	// Key is the path in the document, for example interfaces[eth1].mtu.
	// +required
	Key string `json:"key"`
	// From is the value before; empty if there was none.
	// +optional
	From string `json:"from,omitempty"`
	// To is the value after; empty if there is none.
	// +optional
	To string `json:"to,omitempty"`
}

// Failure says why the policy could not be applied.
type Failure struct {
	// Phase in which it failed: Resolve, Validate, Apply, Verify, Probe, Commit or Rollback.
	// +optional
	Phase string `json:"phase,omitempty"`
	// Message in one sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// Mismatches are keys whose value on the node is not the one desired.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	// Probe that failed.
	// +optional
	Probe *ProbeResult `json:"probe,omitempty"`
	// RolledBack reports that the node has its old network again.
	// +optional
	RolledBack bool `json:"rolledBack,omitempty"`
	// Time of the failure.
	// +optional
	Time metav1.Time `json:"time,omitempty,omitzero"`
}

// Mismatch is a key whose value on the node is not the one desired.
type Mismatch struct {
	// Key is the path in the document.
	// +required
	Key string `json:"key"`
	// Want is the desired value.
	// +optional
	Want string `json:"want,omitempty"`
	// Got is the value on the node.
	// +optional
	Got string `json:"got,omitempty"`
}

// ProbeResult is a probe and what came of it.
type ProbeResult struct {
	// Name of a custom probe, or Gateway, DNS, APIServer or NodeReady.
	// +required
	Name string `json:"name"`
	// Target that was probed.
	// +optional
	Target string `json:"target,omitempty"`
	// Message of the last attempt.
	// +optional
	Message string `json:"message,omitempty"`
}

// Drift says what something else changed after the policy was applied.
type Drift struct {
	// Since when.
	// +optional
	Since metav1.Time `json:"since,omitempty,omitzero"`
	// Mismatches are the keys that differ.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Mismatches []Mismatch `json:"mismatches,omitempty"`
}

// NodeNetworkConfigurationEnactmentStatus is what became of a policy on a node.
type NodeNetworkConfigurationEnactmentStatus struct {
	// DesiredState is the document for this node, after templates are resolved.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	DesiredState *runtime.RawExtension `json:"desiredState,omitempty"`

	// DesiredStateMetaInfo says when desiredState was computed.
	// +optional
	DesiredStateMetaInfo MetaInfo `json:"desiredStateMetaInfo,omitempty,omitzero"`

	// CapturedStates are what the policy's captures found, kept so that later runs use the same.
	// +optional
	CapturedStates map[string]CapturedState `json:"capturedStates,omitempty"`

	// PolicyGeneration is the generation of the policy that the status is of.
	// +optional
	PolicyGeneration int64 `json:"policyGeneration,omitempty"`

	// Conditions are Available, Failing, Progressing, Pending and Aborted.
	// +optional
	Conditions []nmstatev1.Condition `json:"conditions,omitempty"`

	// Features of the document, for statistics.
	// +optional
	Features []string `json:"features,omitempty"`

	// RetryCount counts attempts, by generation.
	// +optional
	RetryCount map[string]int `json:"retryCount,omitempty"`

	// Plan is what applying would change. Not in kubernetes-nmstate.
	// +optional
	Plan *Plan `json:"plan,omitempty"`

	// Failure says why it could not be applied. Not in kubernetes-nmstate.
	// +optional
	Failure *Failure `json:"failure,omitempty"`

	// RevertState is the document that restores what the policy changed on the node. Not in kubernetes-nmstate.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	RevertState *runtime.RawExtension `json:"revertState,omitempty"`

	// Drift says what changed after it was applied. Not in kubernetes-nmstate.
	// +optional
	Drift *Drift `json:"drift,omitempty"`
}

// NodeNetworkConfigurationEnactment is what became of a policy on a node. Its name is NODE.POLICY.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:pruning:PreserveUnknownFields
// +kubebuilder:resource:path=nodenetworkconfigurationenactments,shortName=nnce,scope=Cluster
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.status==\"True\")].type",description="Status"
// +kubebuilder:printcolumn:name="Status Age",type="date",JSONPath=".status.conditions[?(@.status==\"True\")].lastTransitionTime",description="Status Age"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.status==\"True\")].reason",description="Reason"
type NodeNetworkConfigurationEnactment struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Status is what became of the policy.
	// +optional
	Status NodeNetworkConfigurationEnactmentStatus `json:"status,omitempty"`
}

// NodeNetworkConfigurationEnactmentList is a list of enactments.
//
// +kubebuilder:object:root=true
type NodeNetworkConfigurationEnactmentList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeNetworkConfigurationEnactment `json:"items"`
}
