// Package preflight holds the checks before a seed image is made: a table of named questions about the request and the facts
// known of node, cluster and hub, and the surveyor that gathers the facts of the node.
//
// The controller makes them before it changes anything, and "lca-cli seed check" makes them on the node. The package imports
// no Kubernetes client.
package preflight
