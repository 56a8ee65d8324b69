package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

// NodeNetworkStateStatus is what a node's network is like.
type NodeNetworkStateStatus struct {
	// CurrentState is the node's network as an nmstate document.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	CurrentState *runtime.RawExtension `json:"currentState,omitempty"`

	// LastSuccessfulUpdateTime is when currentState changed last.
	// +optional
	LastSuccessfulUpdateTime metav1.Time `json:"lastSuccessfulUpdateTime,omitempty,omitzero"`

	// HostNetworkManagerVersion is the version of the node's NetworkManager.
	// +optional
	HostNetworkManagerVersion string `json:"hostNetworkManagerVersion,omitempty"`

	// HandlerNmstateVersion is the version of the program that observed.
	// +optional
	HandlerNmstateVersion string `json:"handlerNmstateVersion,omitempty"`

	// HandlerNetworkManagerVersion is a field of kubernetes-nmstate that is not written.
	// +optional
	HandlerNetworkManagerVersion string `json:"handlerNetworkManagerVersion,omitempty"`

	// Conditions of the observation.
	// +optional
	Conditions []nmstatev1.Condition `json:"conditions,omitempty"`
}

// NodeNetworkState is what a node's network is like. It has the name of the node.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nodenetworkstates,shortName=nns,scope=Cluster
type NodeNetworkState struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Status is the observation.
	// +optional
	Status NodeNetworkStateStatus `json:"status,omitempty"`
}

// NodeNetworkStateList is a list of states.
//
// +kubebuilder:object:root=true
type NodeNetworkStateList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeNetworkState `json:"items"`
}
