// Package v1alpha1 serves the SeedGenerator of lca.openshift.io under its first version, with the schema of version v1,
// which the API server stores. New clients use v1.
//
// +kubebuilder:object:generate=true
// +groupName=lca.openshift.io
package v1alpha1
