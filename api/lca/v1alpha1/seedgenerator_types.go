package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// SeedGenerator makes an image of this single-node cluster, from which other nodes are installed or upgraded. There is
// exactly one, named "seedimage".
// ---
// The rule about the spec needs the status and therefore sits on the object itself, where it is evaluated for every
// update: it compares with the old object and lets an unchanged spec pass.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=seedgenerators,scope=Cluster,shortName=seedgen
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="State",type="string",JSONPath=".status.conditions[-1:].type"
// +kubebuilder:printcolumn:name="Details",type="string",JSONPath=".status.conditions[-1:].message"
// +kubebuilder:printcolumn:name="Phase",type="string",JSONPath=".status.phase",priority=1
// +kubebuilder:printcolumn:name="Image",type="string",JSONPath=".spec.seedImage",priority=1
// +kubebuilder:printcolumn:name="Digest",type="string",JSONPath=".status.image.digest",priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'seedimage'",message="SeedGenerator is a singleton: metadata.name must be 'seedimage'; rename the object or edit the existing one"
// +kubebuilder:validation:XValidation:rule=`self.spec == oldSelf.spec || oldSelf.?status.?phase.orValue("") in ["Completed", "Failed"]`,fieldPath=".spec",reason=FieldValueForbidden,message="cannot modify spec while a seed image is being generated; wait until status.phase is Completed or Failed, or delete the SeedGenerator and create it again"
type SeedGenerator struct {
	metav1.TypeMeta `json:",inline"`

	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the image to generate.
	// +required
	Spec lcav1.SeedGeneratorSpec `json:"spec"`

	// Status is what the agent observes and does.
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status lcav1.SeedGeneratorStatus `json:"status,omitempty"`
}

// SeedGeneratorList is a list of SeedGenerator.
//
// +kubebuilder:object:root=true
type SeedGeneratorList struct {
	metav1.TypeMeta `json:",inline"`

	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items holds at most one SeedGenerator.
	Items []SeedGenerator `json:"items"`
}
