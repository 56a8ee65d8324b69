// Package v1 holds the types of the API group nmstate.io, version v1: NodeNetworkConfigurationPolicy, and what its
// enactments and states share with it.
//
// The names, fields, conditions and reasons are those of kubernetes-nmstate, so that its policies can be applied unchanged. Fields
// that kubernetes-nmstate does not have are optional and say so. The user writes spec; the operator role writes status. It imports
// nothing but apimachinery.
//
// +kubebuilder:object:generate=true
// +groupName=nmstate.io
package v1
