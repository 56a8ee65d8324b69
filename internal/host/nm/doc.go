// Package nm is the host.Network port over NetworkManager's D-Bus API, with the
// kernel (netlink) as witness of what really runs.
//
// lca-cli and the node agent construct it. It serves ethernet and VLAN interfaces with static or automatic addresses,
// routes and the resolver, and edits the addresses of profiles of other types
// that exist already. It imports the host port, netstate, godbus and netlink;
// it must not import a domain package, a sibling adapter or Kubernetes.
//
// The promise it is built around: killing this process, NetworkManager or the
// power at any moment leaves the old network or the committed new one, never
// an unverified one. See transaction.go for how.
//
// D-Bus API: https://networkmanager.dev/docs/api/latest/spec.html, versions
// 1.42 to 1.52 are tested.
package nm
