// Package v1beta1 is ClusterRelocation, the kind of cluster-relocation-operator (RHsyseng/cluster-relocation-operator,
// api/v1beta1), with the same group, fields and conditions, so that its objects are read unchanged.
//
// It is used by internal/controller/relocation and imports nothing of the product.
//
// +kubebuilder:object:generate=true
// +groupName=rhsyseng.github.io
package v1beta1
