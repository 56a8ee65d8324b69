// Package v1beta2 holds the Cluster API's contract for address management: the kinds IPAddressClaim and
// IPAddress of the group ipam.cluster.x-k8s.io, version v1beta2. Names and meanings are the contract's; where
// the Cluster API itself is installed, its definitions serve as well as the ones generated from here.
//
// Both versions have the same fields in the same places, so that none has to be converted.
//
// +kubebuilder:object:generate=true
// +groupName=ipam.cluster.x-k8s.io
package v1beta2
