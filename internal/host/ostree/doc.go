// Package ostree implements host.Deployments with the ostree program and the files it keeps.
//
// What is deployed is read from the boot loader entries (the Boot Loader
// Specification files ostree writes), since no ostree of the field prints its status in
// a form made for machines. What changes goes through `ostree admin`.
//
// lca-cli and the operator use it. It imports host, run and the standard library.
package ostree
