package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Persistence says whether a policy's configuration survives a reboot of the node by itself.
//
// +kubebuilder:validation:Enum=Persistent;Ephemeral
type Persistence string

// Values of Persistence.
const (
	// PersistencePersistent keeps the configuration on the node's disk.
	PersistencePersistent Persistence = "Persistent"
	// PersistenceEphemeral keeps it in memory: the node boots without it, and its agent applies it again.
	PersistenceEphemeral Persistence = "Ephemeral"
)

// OnDelete says what becomes of the nodes' configuration when the policy is deleted.
//
// +kubebuilder:validation:Enum=Keep;Revert
type OnDelete string

// Values of OnDelete.
const (
	// OnDeleteKeep leaves the nodes as they are.
	OnDeleteKeep OnDelete = "Keep"
	// OnDeleteRevert restores on every node what the policy changed there.
	OnDeleteRevert OnDelete = "Revert"
)

// OnDrift says what a node's agent does when something else changes what the policy configured.
//
// +kubebuilder:validation:Enum=Report;Correct
type OnDrift string

// Values of OnDrift.
const (
	// OnDriftReport reports the drift in the enactment.
	OnDriftReport OnDrift = "Report"
	// OnDriftCorrect reports it and applies the policy again.
	OnDriftCorrect OnDrift = "Correct"
)

// Approval says whether a roll-out starts by itself.
//
// +kubebuilder:validation:Enum=Automatic;Manual
type Approval string

// Values of Approval.
const (
	// ApprovalAutomatic starts at once.
	ApprovalAutomatic Approval = "Automatic"
	// ApprovalManual shows the plan of every node and waits for the annotation lca.openshift.io/approved-generation.
	ApprovalManual Approval = "Manual"
)

// NodeNetworkConfigurationPolicySpec is the desired network configuration and the nodes that it is for.
//
// +kubebuilder:validation:XValidation:rule="!has(self.machineConfigPoolSelector) || !has(self.nodeSelector)",fieldPath=".machineConfigPoolSelector",message="machineConfigPoolSelector and nodeSelector exclude each other; remove one"
// +kubebuilder:validation:XValidation:rule="!has(self.machineConfigPoolSelector) || !has(self.capture) || self.capture.size() == 0",fieldPath=".capture",message="a policy for machine config pools cannot have captures: its document is the same on every node; use nodeSelector or remove capture"
// +kubebuilder:validation:XValidation:rule="!has(self.machineConfigPoolSelector) || !has(self.templateValues)",fieldPath=".templateValues",message="a policy for machine config pools cannot have templateValues: its document is the same on every node; use nodeSelector or remove templateValues"
type NodeNetworkConfigurationPolicySpec struct {
	// NodeSelector selects the nodes that have all of these labels. Omitted means all nodes.
	// +kubebuilder:validation:MaxProperties=256
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Capture holds named expressions over the node's network, which desiredState may refer to.
	// +optional
	Capture map[string]string `json:"capture,omitempty"`

	// DesiredState is the nmstate document. What it does not mention stays as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	DesiredState *runtime.RawExtension `json:"desiredState,omitempty"`

	// MaxUnavailable is how many of the selected nodes, as a number or a percentage, may be changing or failed at a time. A
	// percentage is rounded up, and one node may always change. Omitted means 50%.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == string ? string(self).matches('^(100|[0-9]{1,2})%$') || string(self).matches('^[0-9]{1,9}$') : int(self) >= 0",message="maxUnavailable must be a number of nodes, for example 2, or a percentage, for example 50%"
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MachineConfigPoolSelector selects the machine config pools whose nodes the policy is for, by the labels of the pools. The
	// document then reaches the nodes in a MachineConfig. An empty selector selects no pool. Not in kubernetes-nmstate.
	// +optional
	MachineConfigPoolSelector *metav1.LabelSelector `json:"machineConfigPoolSelector,omitempty"`

	// Probes say how the new network of a node is proved. Omitted means that gateway, DNS, API server and readiness of the
	// node are probed as far as they were fine before. Not in kubernetes-nmstate.
	// +optional
	Probes *Probes `json:"probes,omitempty"`

	// Persistence says whether the configuration survives a reboot by itself. Omitted means Persistent. Not in kubernetes-nmstate.
	// +optional
	Persistence Persistence `json:"persistence,omitempty"`

	// OnDelete says what becomes of the configuration when the policy is deleted. Omitted means Keep. Not in kubernetes-nmstate.
	// +optional
	OnDelete OnDelete `json:"onDelete,omitempty"`

	// OnDrift says what happens when something else changes the configuration. Omitted means Report. Not in kubernetes-nmstate.
	// +optional
	OnDrift OnDrift `json:"onDrift,omitempty"`

	// Rollout orders the nodes and says when to wait. Not in kubernetes-nmstate.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// Approval says whether the roll-out starts by itself. Omitted means Automatic. Not in kubernetes-nmstate.
	// +optional
	Approval Approval `json:"approval,omitempty"`

	// TemplateValues are values that differ by node; desiredState refers to them as {{ values.NAME }}. Not in kubernetes-nmstate.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	TemplateValues []TemplateValue `json:"templateValues,omitempty"`
}

// Rollout orders the nodes of a policy and says when to wait.
type Rollout struct {
	// Canary is tried first; no other node starts before it succeeded.
	// +optional
	Canary *Canary `json:"canary,omitempty"`

	// SoakSeconds is how long the canaries must stay configured and ready before other nodes start.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	// +optional
	SoakSeconds int32 `json:"soakSeconds,omitempty"`

	// PauseOnFailure lets no further node start after the first failure, until the annotation lca.openshift.io/resumed-generation
	// holds the policy's generation.
	// +optional
	PauseOnFailure bool `json:"pauseOnFailure,omitempty"`
}

// Canary says which nodes go first.
//
// +kubebuilder:validation:XValidation:rule="has(self.count) != has(self.selector)",message="a canary is given by count or by selector; set exactly one of them"
type Canary struct {
	// Count of nodes, ready ones first, in the order of their names.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Count *int32 `json:"count,omitempty"`

	// Selector selects, of the policy's nodes, those that have all of these labels.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Selector map[string]string `json:"selector,omitempty"`
}

// TemplateValue is a value that differs by node. Exactly one source is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.label), has(self.annotation), has(self.address)].filter(s, s).size() == 1",message="a template value has exactly one source; set one of label, annotation and address"
type TemplateValue struct {
	// Name by which desiredState refers to the value.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9_]*[a-zA-Z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`

	// Label of the Node whose value is taken.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Label string `json:"label,omitempty"`

	// Annotation of the Node whose value is taken.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Annotation string `json:"annotation,omitempty"`

	// Address is claimed from a pool for each node. {{ values.NAME }} is the address, {{ values.NAME-prefix }} its prefix length
	// and {{ values.NAME-gateway }} the gateway of the pool.
	// +optional
	Address *AddressFrom `json:"address,omitempty"`

	// Default is taken where the Node has no such label or annotation. Without it the node waits.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Default *string `json:"default,omitempty"`
}

// AddressFrom names the pool (ipam.metal3.io) that an address is claimed from. The claim is named POLICY.VALUE.NODE.
type AddressFrom struct {
	// Namespace of the pool and of the claims.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`

	// Pool is the name of the IPPool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Pool string `json:"pool"`
}

// NodeNetworkConfigurationPolicyStatus is how far the policy is rolled out.
type NodeNetworkConfigurationPolicyStatus struct {
	// Conditions are Available, Degraded, Progressing and Ignored.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`

	// UnavailableNodeCountMap is kubernetes-nmstate's counter. This product recomputes the count and leaves the map alone.
	// +optional
	UnavailableNodeCountMap map[string]int `json:"unavailableNodeCountMap,omitempty"`

	// UnavailableNodeCount is a field of earlier kubernetes-nmstate, which is neither read nor written.
	// +optional
	UnavailableNodeCount int `json:"unavailableNodeCount,omitempty"`

	// LastUnavailableNodeCountUpdate is a field of earlier kubernetes-nmstate, which is neither read nor written.
	// +optional
	LastUnavailableNodeCountUpdate *metav1.Time `json:"lastUnavailableNodeCountUpdate,omitempty"`

	// ObservedGeneration is the generation that the status is of. Not in kubernetes-nmstate.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Rollout counts the nodes of the roll-out. Not in kubernetes-nmstate.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// Conflicts are other policies that want other values for the same keys of a common node. Not in kubernetes-nmstate.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Conflicts []Conflict `json:"conflicts,omitempty"`

	// MachineConfigs that carry the policy's document, one for each selected pool. Not in kubernetes-nmstate.
	// +listType=set
	// +optional
	MachineConfigs []string `json:"machineConfigs,omitempty"`
}

// RolloutPhase says what a roll-out waits for.
//
// +kubebuilder:validation:Enum=AwaitingApproval;Canary;Soaking;Rolling;Paused;Aborted;Done;Reverting;Standby
type RolloutPhase string

// Values of RolloutPhase.
const (
	// PhaseAwaitingApproval waits for a person to approve the plan.
	PhaseAwaitingApproval RolloutPhase = "AwaitingApproval"
	// PhaseCanary changes the canaries.
	PhaseCanary RolloutPhase = "Canary"
	// PhaseSoaking waits while the canaries prove themselves.
	PhaseSoaking RolloutPhase = "Soaking"
	// PhaseRolling changes nodes, maxUnavailable at a time.
	PhaseRolling RolloutPhase = "Rolling"
	// PhasePaused lets no further node start, because of a failure or because a person said so.
	PhasePaused RolloutPhase = "Paused"
	// PhaseAborted lets no further node start in this generation: as many nodes failed as may be unavailable.
	PhaseAborted RolloutPhase = "Aborted"
	// PhaseDone has nothing left to do.
	PhaseDone RolloutPhase = "Done"
	// PhaseReverting restores the nodes of a policy that is deleted, maxUnavailable at a time.
	PhaseReverting RolloutPhase = "Reverting"
	// PhaseStandby leaves the nodes to kubernetes-nmstate.
	PhaseStandby RolloutPhase = "Standby"
)

// RolloutStatus counts the nodes of a roll-out.
type RolloutStatus struct {
	// Phase says what the roll-out waits for.
	// +required
	Phase RolloutPhase `json:"phase"`
	// Message says why, where it waits.
	// +optional
	Message string `json:"message,omitempty"`
	// Nodes are selected and run the agent.
	Nodes int `json:"nodes"`
	// Configured nodes have the configuration.
	Configured int `json:"configured"`
	// Failed nodes rolled it back.
	Failed int `json:"failed"`
	// Aborted nodes did not start.
	Aborted int `json:"aborted"`
	// Granted nodes may change, and have not finished.
	Granted int `json:"granted"`
	// NotReady nodes are not waited for.
	NotReady int `json:"notReady"`
	// MaxUnavailable is the number that spec.maxUnavailable amounts to.
	MaxUnavailable int `json:"maxUnavailable"`
	// StartTime is when the first node of this generation was granted.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
}

// Conflict is another policy that wants other values for the same keys.
type Conflict struct {
	// Policy is the name of the other policy.
	// +required
	Policy string `json:"policy"`
	// Keys on which the two differ, with both values.
	// +listType=atomic
	// +optional
	Keys []string `json:"keys,omitempty"`
	// Node is one on which both are applied.
	// +optional
	Node string `json:"node,omitempty"`
}

// NodeNetworkConfigurationPolicy configures the network of nodes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=nodenetworkconfigurationpolicies,shortName=nncp,scope=Cluster
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.status==\"True\")].type",description="Status"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.status==\"True\")].reason",description="Reason"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.rollout.phase",description="What the roll-out waits for",priority=1
type NodeNetworkConfigurationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the desired configuration.
	// +optional
	Spec NodeNetworkConfigurationPolicySpec `json:"spec,omitempty"`
	// Status is how far it is rolled out.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status NodeNetworkConfigurationPolicyStatus `json:"status,omitempty"`
}

// NodeNetworkConfigurationPolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type NodeNetworkConfigurationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeNetworkConfigurationPolicy `json:"items"`
}
