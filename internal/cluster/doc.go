// Package cluster answers questions about the cluster from its API: which node
// it is, what addresses and networks it has, whether it is healthy, and what
// recert needs to know before the API goes away.
//
// The operator calls it in every reconciliation, lca-cli before it stops the
// cluster. Every function takes a client.Reader, which may be cached or not, and
// reads only; a Reader has to be built on Scheme. The package must not import
// host ports, controllers or the flow engine, and never touches the node.
package cluster
