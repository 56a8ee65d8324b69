package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

// NodeNetworkConfigurationPolicy is the same as in version v1.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion
// +kubebuilder:resource:path=nodenetworkconfigurationpolicies,shortName=nncp,scope=Cluster
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.status==\"True\")].type",description="Status"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.status==\"True\")].reason",description="Reason"
type NodeNetworkConfigurationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the desired configuration.
	// +optional
	Spec nmstatev1.NodeNetworkConfigurationPolicySpec `json:"spec,omitempty"`
	// Status is how far it is rolled out.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status nmstatev1.NodeNetworkConfigurationPolicyStatus `json:"status,omitempty"`
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
