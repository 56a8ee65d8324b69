package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPAddressSpec is an address and what a host needs to use it.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",reason=FieldValueForbidden,message="an address that was allocated cannot be changed; delete the claim and make another"
type IPAddressSpec struct {
	// Claim is the claim that the address was made for.
	// +required
	Claim ObjectReference `json:"claim"`

	// Pool is the pool that the address is from.
	// +required
	Pool ObjectReference `json:"pool"`

	// Prefix is the prefix length.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=128
	// +optional
	Prefix int `json:"prefix,omitempty"`

	// Gateway of the network.
	// +optional
	Gateway *IPAddressStr `json:"gateway,omitempty"`

	// Address is the address itself.
	// +required
	Address IPAddressStr `json:"address"`

	// DNSServers to ask from this network.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	DNSServers []IPAddressStr `json:"dnsServers,omitempty"`
}

// IPAddress is an address that was allocated.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ipaddresses,scope=Namespaced,shortName=ipa;ipaddress;m3ipa;m3ipaddress;m3ipaddresses;metal3ipa;metal3ipaddress;metal3ipaddresses,categories=metal3
// +kubebuilder:metadata:labels={"cluster.x-k8s.io/v1beta1=v1alpha1","cluster.x-k8s.io/v1beta2=v1alpha1"}
// +kubebuilder:printcolumn:name="Address",type="string",JSONPath=".spec.address"
// +kubebuilder:printcolumn:name="Prefix",type="integer",JSONPath=".spec.prefix"
// +kubebuilder:printcolumn:name="Owner",type="string",JSONPath=".spec.claim.name"
// +kubebuilder:printcolumn:name="Pool",type="string",JSONPath=".spec.pool.name"
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
