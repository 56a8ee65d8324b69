package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Condition is one condition of a policy, an enactment or a state. It is not metav1.Condition: kubernetes-nmstate's has a heartbeat,
// and no reason where the status is unknown.
type Condition struct {
	// Type of the condition.
	// +required
	Type string `json:"type"`
	// Status is True, False or Unknown.
	// +required
	Status metav1.ConditionStatus `json:"status"`
	// Reason in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message for a person.
	// +optional
	Message string `json:"message,omitempty"`
	// LastHeartbeatTime is when the condition was written last.
	// +optional
	LastHeartbeatTime metav1.Time `json:"lastHeartbeatTime,omitempty,omitzero"`
	// LastTransitionTime is when the status changed last.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
}

// Types of a policy's conditions.
const (
	PolicyAvailable   = "Available"
	PolicyDegraded    = "Degraded"
	PolicyProgressing = "Progressing"
	PolicyIgnored     = "Ignored"
	// PolicyConflicting is present only while another policy wants other values for the same keys of a node.
	PolicyConflicting = "Conflicting"
	// PolicyAccepted reports on a policy for machine config pools whether its MachineConfigs are written, as a KubeletConfig does.
	PolicyAccepted = "Accepted"
)

// Reasons of a policy's conditions.
const (
	ReasonSuccessfullyConfigured   = "SuccessfullyConfigured"
	ReasonFailedToConfigure        = "FailedToConfigure"
	ReasonConfigurationProgressing = "ConfigurationProgressing"
	ReasonNoMatchingNode           = "NoMatchingNode"
	ReasonConflictingPolicies      = "ConflictingPolicies"
	ReasonMachineConfigWritten     = "MachineConfigWritten"
	ReasonMachineConfigRefused     = "MachineConfigRefused"
)
