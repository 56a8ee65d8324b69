// Package network makes the wires of one lab node and the outside world it is seen from, in network namespaces of its own.
//
// A Network owns namespaces: <name>-node, which a container gets as its whole network, and <name>-lan, one Ethernet
// segment that carries the gateways and DNS servers of both sites of the lab, so that a node can be moved from the first
// site's addresses to the second's. Nothing here ever touches the host's own interfaces. Called by package lab and by
// lab/machine (a boot gets new network cards); tests use it to look at the node from outside and to break its network.
// It needs root, iproute2, and dnsmasq; it imports nothing of the product.
package network
