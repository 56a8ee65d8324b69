package host

import (
	"context"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Network is the node's declarative network configuration (nmstate documents).
type Network interface {
	// Observe returns what runs now: interfaces with addresses, running routes, resolver.
	Observe(ctx context.Context) (netstate.Document, error)
	// Apply brings the document about as one transaction: while it is open a lost caller
	// or a failed proof puts the former network back. prove runs on the new network,
	// before anything is written to disk; nil proves nothing. What the
	// document already finds in place is left untouched.
	Apply(ctx context.Context, want netstate.Document, prove func(context.Context) error) error
	// Recover settles a transaction that a crash left open: rolled back where it was not
	// committed, finished where it was.
	Recover(ctx context.Context) error
}

// Switch is the node's Open vSwitch.
type Switch interface {
	// Uplink names the one system interface attached to the bridge; patch ports,
	// internal ports and tunnels do not count.
	Uplink(ctx context.Context, bridge string) (string, error)
}

// Prober proves that a network carries traffic.
type Prober interface {
	// Gateway asks the next hop for a sign of life (neighbour discovery, echo).
	Gateway(ctx context.Context, gw netip.Addr, iface string) error
	// DNS asks the server any question; every well-formed answer counts, a refusal too.
	DNS(ctx context.Context, server netip.Addr) error
	// InUse asks the links of the interfaces who has the address of the prefix, and listens on all of them:
	// a bridge may keep the answer from one of them. This machine itself does not count.
	InUse(ctx context.Context, addr netip.Prefix, ifaces ...string) (Claim, error)
	// Reach asks once whether the endpoint gives a good answer, over whatever route leads there.
	Reach(ctx context.Context, e Endpoint) error
}

// Kinds of an Endpoint.
const (
	EndpointTCP  = "tcp"
	EndpointHTTP = "http"
	EndpointDNS  = "dns"
	EndpointICMP = "icmp"
)

// Endpoint is something that must answer.
type Endpoint struct {
	Kind string
	// Target is host:port (tcp), a URL (http), a name (dns) or a host (icmp).
	Target string
	// StatusCodes are good answers to http; none means 200 to 399.
	StatusCodes []int
	// CABundle has the authorities, in PEM, by which an https server is verified; empty means the system's.
	CABundle []byte
	// SkipVerify has an https server not verified.
	SkipVerify bool
}

// Claim is what another machine says of an address.
type Claim struct {
	// Hardware is the address of the machine's card; empty where nobody answered.
	Hardware string
	// Proxy: it answers for its neighbours too. That is a router that forwards for whoever has
	// the address, be it somebody or nobody (proxy ARP, proxy ND).
	Proxy bool
}

// Containers are the workloads of the node's container runtime.
type Containers interface {
	// StopAll stops every container and removes the pods, so that nothing writes
	// below /var any more. Without a runtime there is nothing to stop.
	StopAll(ctx context.Context) error
}

// Resolver is the node's own DNS service (dnsmasq), as far as the address concerns it.
type Resolver interface {
	// SetOverride makes the cluster's own names resolve to addr in the system below root
	// ("" is the running one).
	SetOverride(root string, addr netip.Addr) error
	// SetFilter leaves one family's records out of all answers: "ipv4" (A), "ipv6"
	// (AAAA), "none" removes the filter, "" leaves it as it is.
	SetFilter(root, family string) error
	// Filter says which family the running system leaves out; "none" for neither.
	Filter() (string, error)
}
