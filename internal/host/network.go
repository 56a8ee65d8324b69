package host

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Network is the node's declarative network configuration (nmstate documents).
type Network interface {
	// Observe returns what runs now: interfaces with addresses, running routes, resolver.
	Observe(ctx context.Context) (netstate.Document, error)
	// Apply configures the document as one transaction: while it is open, a lost caller or a failed proof
	// restores the former network. prove runs on the new network before anything is written to disk;
	// nil proves nothing. Configuration that matches the document already is left untouched. While a change
	// waits for its confirmation (NetworkTransaction), Apply fails with ErrNetworkPending; with ErrNetworkUnavailable where it may
	// succeed later as it is.
	Apply(ctx context.Context, want netstate.Document, prove func(context.Context) error, options ...NetworkOption) error
	// Recover settles a transaction that a crash left open: it rolls back one that was not committed and finishes
	// one that was. A change that still waits for its confirmation is left alone.
	Recover(ctx context.Context) error
}

// ErrNetworkUnavailable reports that the network could not be changed, or observed, for a reason that passes and that no document has:
// its manager is away or too busy to answer, or another program has the network on trial. The former network is in force.
var ErrNetworkUnavailable = errors.New("the network cannot be changed now")

// NetworkOption changes how a document is applied.
type NetworkOption int

const (
	// NetworkEphemeral keeps the changed profiles in NetworkManager's memory: the next boot starts with the network
	// on the disk. Interfaces made absent are only taken down.
	NetworkEphemeral NetworkOption = iota + 1
)

// ErrNetworkPending reports that a change of the network waits for its confirmation, so that another cannot start.
var ErrNetworkPending = errors.New("a change of the network waits for its confirmation")

// ErrNoNetworkPending reports that no change of the network waits for its confirmation: none was begun, it has been
// settled, or its time was over and the former network is back.
var ErrNoNetworkPending = errors.New("no change of the network waits for its confirmation")

// PendingNetwork is a change of the network that runs, and is undone at the deadline unless it is committed.
type PendingNetwork struct {
	// Began is when the change started, Deadline when the former network comes back.
	Began    time.Time         `json:"began"`
	Deadline time.Time         `json:"deadline"`
	Want     netstate.Document `json:"want"`
}

// NetworkTransaction is a change of the network that is confirmed by hand. Each call may come from another process.
type NetworkTransaction interface {
	// Begin applies the document, verifies it and leaves it unconfirmed: unless Commit comes within the lease (whole
	// seconds), the former network is restored, also when no process of this product runs any more. A document that is
	// in place already leaves nothing pending and returns false.
	Begin(ctx context.Context, want netstate.Document, lease time.Duration, options ...NetworkOption) (bool, error)
	// Commit makes the pending change permanent. Without one it fails with ErrNoNetworkPending.
	Commit(ctx context.Context) error
	// Rollback restores the former network. Without a pending change it fails with ErrNoNetworkPending.
	Rollback(ctx context.Context) error
	// Pending returns the change that waits for its confirmation; false where there is none.
	Pending(ctx context.Context) (PendingNetwork, bool, error)
}

// NetworkWatch reports changes of the network, whoever makes them.
type NetworkWatch interface {
	// Changes returns a channel that receives a value soon after something changed that Observe may show: many changes
	// at once make one value. It polls nothing. The first value comes at once. The channel closes when ctx ends.
	Changes(ctx context.Context) (<-chan struct{}, error)
}

// Disruption says how much a planned change interrupts an interface.
type Disruption string

// Kinds of Disruption, the mildest first.
const (
	// DisruptionNone: only the profile changes.
	DisruptionNone Disruption = "none"
	// DisruptionInPlace: addresses, routes or settings change while the link stays up.
	DisruptionInPlace Disruption = "in-place"
	// DisruptionCreate: a new interface, or one that was down, comes up.
	DisruptionCreate Disruption = "create"
	// DisruptionReactivate: the interface loses its addresses for a moment.
	DisruptionReactivate Disruption = "reactivate"
	// DisruptionRecreate: the link is deleted and made anew.
	DisruptionRecreate Disruption = "recreate"
	// DisruptionDown: the interface goes down, or away.
	DisruptionDown Disruption = "down"
)

// NetworkChange is one step of a planned change of the network.
type NetworkChange struct {
	Interface  string     `json:"interface"`
	Disruption Disruption `json:"disruption"`
	// Keys are the NetworkManager settings that change, as "ipv4.address-data"; none for a new or removed profile.
	Keys []string `json:"keys,omitempty"`
}

// NetworkPlanner says what Apply would do.
type NetworkPlanner interface {
	// Plan returns the steps of applying the document, in their order, and changes nothing. None means that
	// everything is in place. It fails where Apply would refuse the document.
	Plan(ctx context.Context, want netstate.Document) ([]NetworkChange, error)
	// CheckKernel fails where the running kernel cannot make a link that the document has. It looks at nothing else, so that it
	// may be asked of a document for another boot.
	CheckKernel(want netstate.Document) error
}

// Switch is the node's Open vSwitch.
type Switch interface {
	// Uplink names the one system interface attached to the bridge; patch ports,
	// internal ports and tunnels do not count.
	Uplink(ctx context.Context, bridge string) (string, error)
}

// Prober proves that a network carries traffic.
type Prober interface {
	// Gateway proves that the next hop answers (neighbour discovery, echo).
	Gateway(ctx context.Context, gw netip.Addr, iface string) error
	// DNS proves that the server serves this node: it asks for the name servers of the root, then for each of the names. One
	// answer over UDP counts, also that a name does not exist. A server that refuses all of them, or fails at all of them, does not.
	DNS(ctx context.Context, server netip.Addr, names ...string) error
	// InUse asks on the links of the interfaces which machine has the address of the prefix, and listens on all of
	// them, because a bridge may deliver the answer on another one. This machine does not count.
	InUse(ctx context.Context, addr netip.Prefix, ifaces ...string) (Claim, error)
	// Reach asks once whether the endpoint gives a good answer, by the node's routes.
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
	// CABundle holds the authorities, in PEM, that verify an https server; empty means the system's.
	CABundle []byte
	// SkipVerify skips certificate verification.
	SkipVerify bool
}

// Claim is another machine's answer for an address.
type Claim struct {
	// Hardware is the link-layer address of the machine; empty where none answered.
	Hardware string
	// Proxy says that the machine answers for other addresses as well: a proxy-ARP or proxy-ND router, which
	// answers whether or not the address is in use.
	Proxy bool
}

// Containers are the workloads of the node's container runtime.
type Containers interface {
	// StopAll stops every container and removes the pods, so that nothing writes
	// below /var any more. A node without a runtime has nothing to stop.
	StopAll(ctx context.Context) error
}

// Resolver is the node's own DNS service (dnsmasq), as far as the address concerns it.
type Resolver interface {
	// SetOverride makes the cluster's own names resolve to addr in the system below root
	// ("" is the running one).
	SetOverride(root string, addr netip.Addr) error
	// SetCluster makes the name server answer for the cluster of that name and base domain in the system below root.
	SetCluster(root, name, base string) error
	// SetFilter removes one family's records from all answers: "ipv4" (A), "ipv6"
	// (AAAA). "none" removes the filter, "" keeps the current one.
	SetFilter(root, family string) error
	// Filter returns the family that the running system filters; "none" for neither.
	Filter() (string, error)
}

// Hostname is the node's own name.
type Hostname interface {
	// Hostname returns the name that the kernel has.
	Hostname(ctx context.Context) (string, error)
	// SetHostname gives the node the name now and at its next boots.
	SetHostname(ctx context.Context, name string) error
}
