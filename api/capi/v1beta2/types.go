package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPPoolReference names a pool of any provider, in the namespace of the claim.
type IPPoolReference struct {
	// Name of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Kind of the pool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Kind string `json:"kind"`

	// APIGroup of the pool.
	// +kubebuilder:validation:MaxLength=253
	// +required
	APIGroup string `json:"apiGroup,omitempty"`
}

// NameReference names an object of a known kind, in the same namespace.
type NameReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// IPAddressClaimSpec asks for an address.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",reason=FieldValueForbidden,message="a claim can not be changed; delete it and make another"
type IPAddressClaimSpec struct {
	// ClusterName is the Cluster that the claim belongs to. While that is paused, so is the claim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	ClusterName string `json:"clusterName,omitempty"`

	// PoolRef is the pool to take an address from.
	// +required
	PoolRef IPPoolReference `json:"poolRef"`
}

// IPAddressClaimStatus tells what became of the claim.
type IPAddressClaimStatus struct {
	// Conditions hold Ready.
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// AddressRef is the IPAddress object that was made for the claim.
	// +optional
	AddressRef *NameReference `json:"addressRef,omitempty"`
}

// IPAddressClaim claims one address from a pool.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:resource:path=ipaddressclaims,scope=Namespaced,categories=cluster-api
// +kubebuilder:selectablefield:JSONPath=`.status.addressRef.name`
// +kubebuilder:metadata:labels={"clusterctl.cluster.x-k8s.io=","clusterctl.cluster.x-k8s.io/move-hierarchy="}
// +kubebuilder:printcolumn:name="Pool Name",type="string",JSONPath=".spec.poolRef.name"
// +kubebuilder:printcolumn:name="Pool Kind",type="string",JSONPath=".spec.poolRef.kind"
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".status.addressRef.name"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].reason"
// +kubebuilder:printcolumn:name="Owner",type="string",JSONPath=".metadata.ownerReferences[0].name"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IPAddressClaim struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is what is asked for.
	// +optional
	Spec IPAddressClaimSpec `json:"spec,omitempty"`
	// Status is what became of it.
	// +optional
	Status IPAddressClaimStatus `json:"status,omitempty"`
}

// IPAddressClaimList is a list of IPAddressClaim.
//
// +kubebuilder:object:root=true
type IPAddressClaimList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPAddressClaim `json:"items"`
}

// IPAddressSpec is an address and what a host needs to use it.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",reason=FieldValueForbidden,message="an address that was given out can not be changed; delete the claim and make another"
type IPAddressSpec struct {
	// ClaimRef is the claim that the address was made for.
	// +required
	ClaimRef NameReference `json:"claimRef"`

	// PoolRef is the pool that the address is from.
	// +required
	PoolRef IPPoolReference `json:"poolRef"`

	// Address is the address itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	// +kubebuilder:validation:XValidation:rule="isIP(self)",message="must be an IPv4 or IPv6 address"
	// +required
	Address string `json:"address"`

	// Prefix is the prefix length.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	// +required
	Prefix *int32 `json:"prefix"`

	// Gateway of the network.
	// +kubebuilder:validation:MaxLength=39
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// IPAddress is an address that was given out.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:path=ipaddresses,scope=Namespaced,categories=cluster-api
// +kubebuilder:metadata:labels={"clusterctl.cluster.x-k8s.io=","clusterctl.cluster.x-k8s.io/move-hierarchy="}
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".spec.address"
// +kubebuilder:printcolumn:name="Pool Name",type="string",JSONPath=".spec.poolRef.name"
// +kubebuilder:printcolumn:name="Pool Kind",type="string",JSONPath=".spec.poolRef.kind"
// +kubebuilder:printcolumn:name="Owner",type="string",JSONPath=".spec.claimRef.name"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type IPAddress struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the address.
	// +optional
	Spec IPAddressSpec `json:"spec,omitempty"`
}

// IPAddressList is a list of IPAddress.
//
// +kubebuilder:object:root=true
type IPAddressList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPAddress `json:"items"`
}
