// Package v1alpha1 holds the types of the API group ipam.lca.openshift.io, version v1alpha1:
// AddressLock, of which there is at most one for each address of a network.
//
// The controller that allocates addresses writes it, the consistency checker reads it. It imports nothing but apimachinery.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.lca.openshift.io
package v1alpha1
