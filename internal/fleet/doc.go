// Package fleet turns a table of sites into the objects by which existing fleet managers roll a change of addresses and of
// network policies out to many clusters: policies of Open Cluster Management in batches of the Topology Aware Lifecycle
// Manager, or its ManifestWorks. The whole table is refused, with every mistake by row and column, where any of it cannot
// be used.
//
// lca-cli calls it. It works on values and does no I/O; definition has the types of the objects, health the checks of Argo CD.
package fleet
