// Package netpolicy is the domain of one network policy on one node: it resolves the policy's document, plans the
// difference, applies it under probes that passed before, commits it or lets the former network return, and records how
// to revert it.
//
// The node agent writes the request and reads the outcome; lca-cli's "network enact" carries it out. It acts through
// ports, builds on operation and flow, and imports no adapter and no Kubernetes.
package netpolicy
