package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ObjectReference names another object. It has the fields of core/v1's type of that name, since manifests
// may set any of them; only name, namespace, kind and apiVersion mean anything.
//
// +structType=atomic
type ObjectReference struct {
	// +optional
	Kind string `json:"kind,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// +optional
	FieldPath string `json:"fieldPath,omitempty"`
}

// IPClaimSpec asks for an address.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",reason=FieldValueForbidden,message="a claim cannot be changed; delete it and make another"
// +kubebuilder:validation:XValidation:rule="has(self.pool.name) && size(self.pool.name) > 0",fieldPath=".pool.name",message="pool.name must name an IPPool"
type IPClaimSpec struct {
	// Pool is the pool in the claim's namespace to take an address from.
	// +required
	Pool ObjectReference `json:"pool"`
}

// IPClaimStatus reports what became of the claim.
type IPClaimStatus struct {
	// Address is the IPAddress object that was made for the claim.
	// +optional
	Address *ObjectReference `json:"address,omitempty"`

	// ErrorMessage says why there is no address yet. It goes away once there is one.
	// +optional
	ErrorMessage *string `json:"errorMessage,omitempty"`

	// Conditions report the same with a reason.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IPClaim claims one address from a pool.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ipclaims,scope=Namespaced,shortName=ipc3;ipclaim;m3ipc;m3ipclaim;m3ipclaims;metal3ipc;metal3ipclaim;metal3ipclaims,categories=cluster-api
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1alpha1","cluster.x-k8s.io/v1beta2=v1alpha1"}
// +kubebuilder:selectablefield:JSONPath=`.status.address.name`
// +kubebuilder:printcolumn:name="Pool",type="string",JSONPath=".spec.pool.name"
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".status.address.name"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="Owner",type="string",JSONPath=".metadata.ownerReferences[0].name"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].message",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IPClaim struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is what is asked for.
	// +optional
	Spec IPClaimSpec `json:"spec,omitempty"`
	// Status is what became of it.
	// +optional
	Status IPClaimStatus `json:"status,omitempty"`
}

// IPClaimList is a list of IPClaim.
//
// +kubebuilder:object:root=true
type IPClaimList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPClaim `json:"items"`
}
