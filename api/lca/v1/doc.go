// Package v1 holds the types of the API group lca.openshift.io, version v1: the
// IPConfig resource, by which the owner of a single-node cluster changes the
// node's addresses, gateways, DNS servers and VLAN in stages.
//
// The operator, lca-cli and every client import it. It describes data only and
// imports nothing but apimachinery, so that a client needs no more than this
// package to talk to the agent.
//
// Names of kinds, fields, condition types, reasons, phases and annotations are
// a published interface: they are read by scripts and by other operators, and
// must not change.
//
// +kubebuilder:object:generate=true
// +groupName=lca.openshift.io
package v1
