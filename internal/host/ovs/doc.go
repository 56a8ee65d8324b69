// Package ovs is the host.Switch port over Open vSwitch's database socket
// (OVSDB, RFC 7047); it needs no ovs-vsctl. lca-cli and the operator construct
// it; package nm takes it as source of what only Open vSwitch knows. It must
// not import a domain package or a sibling adapter.
package ovs
