// Package create is the flow that makes a seed image: it stops the cluster for as long as it takes a copy of /etc and
// /var, starts it again, removes from the copy what must not ship, and publishes it.
//
// lca-cli's "seed create" calls it. It acts through ports and the step library and imports no adapter.
package create
