// Package v1alpha1 holds the types of the API group ipam.metal3.io, version v1alpha1: pools of
// addresses, claims on them, and the addresses allocated. They agree with metal3's own types of that
// version in every name and meaning, so that manifests and consumers written for those work here; what
// this project adds is optional, and marked as an addition.
//
// The operator, lca-cli and every client import it. It imports nothing but apimachinery.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.metal3.io
package v1alpha1
