// Package bringup is the step library for bringing a cluster up on a new network or identity: constructors that
// return flow.Step for applying and proving the network, the node's own DNS server, recert, kubelet, the API, the
// node and the user's probes.
//
// Domains (ipconfig, ...) list these steps in their plans. The package imports flow, operation, netstate and the ports
// of internal/host only. Step names are a stored format: journals hold them.
package bringup
