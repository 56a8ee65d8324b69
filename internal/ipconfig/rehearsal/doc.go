// Package rehearsal carries out an IP change in a copy of the control plane while the cluster runs, and reports what that proved, what it
// could not prove, and how long the outage is expected to be. Nothing that the node runs, boots or stores is changed; the copy is removed
// in the end, however the rehearsal ends, and any other operation ends it.
//
// lca-cli's "ip-config rehearse" calls it. It acts through ports and imports no adapter.
package rehearsal
