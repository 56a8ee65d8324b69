// Package preflight holds the checks of a change before anything is touched: a table of named questions about a spec and
// the facts known of node and cluster, and the surveyor that gathers the facts of the node.
//
// The operator makes them before it accepts a stage, and lca-cli before a preview. It imports no Kubernetes client.
package preflight
