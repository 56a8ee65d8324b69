// Package clustercopy is the host.ControlPlaneCopies adapter: etcd and kube-apiserver of a copy run in podman, from the images that the
// cluster's own static pods name, in a network namespace that has no way out.
//
// Everything that it starts belongs to the control group of the calling unit, and its network namespace is mounted where that unit alone
// sees it: when the unit is gone, both are.
//
// cmd/lca-cli builds it. It imports the host ports, host/run, host/etcd and netlink; no domain.
package clustercopy
