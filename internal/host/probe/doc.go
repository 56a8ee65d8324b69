// Package probe is the host.Prober port with raw sockets: it proves that a
// network carries traffic, and needs no ping, arping or dig. lca-cli and the
// node agent construct it; it needs CAP_NET_RAW and must run in the node's
// network namespace. It must not import a domain package or a sibling adapter.
//
// Formats: RFC 826 and 5227 (ARP), RFC 4861 (neighbour discovery), RFC 792 and
// 4443 (echo), RFC 1035 (DNS).
package probe
