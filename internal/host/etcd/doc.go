// Package etcd is the host.Keystore adapter: it runs the cluster's own etcd over
// its data while the cluster is down, and talks to it through a unix socket.
//
// Nothing listens on the network: client and peer sockets lie in a directory
// that only root may enter, so no other process of the host can edit the store
// meanwhile. The store is never re-formed (no --force-new-cluster): a single
// member elects itself, and its identity stays what it was.
//
// etcd runs either in podman from the image that the cluster's own static pod
// names, when that image is on the node, or as a host binary. The image comes
// first because etcd upgrades the data's storage version when a newer release
// opens it; a host binary must therefore be the cluster's own release.
//
// The package is built by cmd/lca-cli for the recert domain. It may import the
// host ports, the etcd client and the standard library; no domain package.
package etcd
