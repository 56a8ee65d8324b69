// Package v1beta1 holds the types of the API group nmstate.io, version v1beta1: NodeNetworkConfigurationEnactment, what became of a
// policy on a node, NodeNetworkState, what a node's network is like, and NodeNetworkConfigurationPolicy as in v1.
//
// A node's agent writes its own state and enactments; the operator role adds to an enactment whether the node may start (Granted).
// It imports nothing but apimachinery and version v1.
//
// +kubebuilder:object:generate=true
// +groupName=nmstate.io
package v1beta1
