package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Silence makes machines outside the node give no answer.
func (n *Links) Silence(addrs ...netip.Addr) { n.set(n.silent, true, addrs) }

// Answer takes Silence back.
func (n *Links) Answer(addrs ...netip.Addr) { n.set(n.silent, false, addrs) }

// Occupy puts other machines with these addresses on the node's link.
func (n *Links) Occupy(addrs ...netip.Addr) { n.set(n.occupied, true, addrs) }

// Proxy puts a router on the node's link that answers for every address of the networks.
func (n *Links) Proxy(networks ...netip.Prefix) {
	n.Lock()
	defer n.Unlock()
	n.proxied = append(n.proxied, networks...)
}

// Place puts machines on a VLAN: they answer only an interface with that tag (0: none). Without
// it a machine answers on any.
func (n *Links) Place(vlan int, addrs ...netip.Addr) {
	n.Lock()
	defer n.Unlock()
	for _, a := range addrs {
		n.segments[a.WithZone("").Unmap()] = vlan
	}
}

func (n *Links) set(which map[netip.Addr]bool, to bool, addrs []netip.Addr) {
	n.Lock()
	defer n.Unlock()
	for _, a := range addrs {
		which[a.WithZone("").Unmap()] = to
	}
}

// Switch is the node's host.Switch.
func (n *Links) Switch() host.Switch { return prober{n} }

// Prober is the node's host.Prober. A next hop answers if it lies in a network of the
// interface, a server if it does or if a default route leads to a next hop that
// answers; Silence makes exceptions.
func (n *Links) Prober() host.Prober { return prober{n} }

type prober struct{ n *Links }

func (p prober) Uplink(_ context.Context, bridge string) (string, error) {
	p.n.Enter()
	defer p.n.Unlock()
	if bridge != host.BridgeExternal || p.n.net.bridged == "" {
		return "", fmt.Errorf("find uplink of %s: no such bridge", bridge)
	}
	return p.n.net.bridged, nil
}

func (p prober) Gateway(_ context.Context, gw netip.Addr, iface string) error {
	p.n.Enter()
	defer p.n.Unlock()
	return p.n.reach(gw, iface)
}

// reach says whether a neighbour answers; iface "" is any.
func (n *Links) reach(to netip.Addr, iface string) error {
	if iface == host.BridgeExternal && n.net.bridged != "" {
		iface = n.net.bridged
	}
	to = to.WithZone("").Unmap()
	if n.silent[to] {
		return fmt.Errorf("gateway %s: no answer", to)
	}
	for name, p := range n.net.profiles {
		if vlan, placed := n.segments[to]; placed && vlan != p.vlan() || iface != "" && iface != name {
			continue
		}
		for _, a := range p.addresses() {
			if a.Contains(to) || to.IsLinkLocalUnicast() && a.Addr().Is6() {
				return nil
			}
		}
	}
	return fmt.Errorf("probe %s: not on the link of %q", to, iface)
}

// Refuse makes name servers outside the node refuse what it asks.
func (n *Links) Refuse(addrs ...netip.Addr) { n.set(n.refusing, true, addrs) }

// Know makes a name server outside the node refuse every name but these.
func (n *Links) Know(server netip.Addr, names ...string) {
	n.Lock()
	defer n.Unlock()
	n.known[server.WithZone("").Unmap()] = names
}

func (p prober) DNS(_ context.Context, server netip.Addr, names ...string) error {
	n := p.n
	n.Enter()
	defer n.Unlock()
	server = server.WithZone("").Unmap()
	if n.refusing[server] {
		return fmt.Errorf("ask name server %s: refused", server)
	}
	if n.silent[server] {
		return fmt.Errorf("DNS server %s: no answer", server)
	}
	known, limited := n.known[server]
	if limited && !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(known, name) }) {
		return fmt.Errorf("DNS server %s does not serve this node: refused", server)
	}
	if n.reach(server, "") == nil {
		return nil
	}
	for _, profile := range n.net.profiles {
		for _, r := range profile.routes {
			hop, err := netip.ParseAddr(r.NextHopAddress)
			if err == nil && hop.Is4() == server.Is4() && n.reach(hop, "") == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("ask name server %s: network is unreachable", server)
}

// Serve puts something on the network that answers Reach; why is how it does, nil for well. What nobody
// serves is out of reach.
func (n *Links) Serve(target string, why error) {
	n.Lock()
	defer n.Unlock()
	n.served[target] = why
}

// Reach asks what Serve put there: for the right kind of certificate too.
func (p prober) Reach(_ context.Context, e host.Endpoint) error {
	p.n.Enter()
	defer p.n.Unlock()
	why, there := p.n.served[e.Target]
	if at, err := netip.ParseAddrPort(e.Target); err == nil && at.Port() == 53 && p.n.localDNS(at.Addr()) {
		there = true
	}
	switch {
	case !slices.Contains([]string{host.EndpointTCP, host.EndpointHTTP, host.EndpointDNS, host.EndpointICMP}, e.Kind):
		return fmt.Errorf("%s %s: no such kind of endpoint", e.Kind, e.Target)
	case !there:
		return fmt.Errorf("%s %s: no answer", e.Kind, e.Target)
	case errors.Is(why, ErrUntrusted) && (e.SkipVerify || len(e.CABundle) > 0):
		return nil
	case errors.Is(why, ErrMissing) && slices.Contains(e.StatusCodes, 404):
		return nil
	case why != nil:
		return fmt.Errorf("%s %s: %w", e.Kind, e.Target, why)
	}
	return nil
}

// How something can be served badly.
var (
	// ErrUntrusted is an https server whose authority is unknown unless an endpoint names it.
	ErrUntrusted = errors.New("certificate signed by unknown authority")
	// ErrMissing is an http server that answers with status 404.
	ErrMissing = errors.New("the answer is 404 Not Found")
)

func (p prober) InUse(_ context.Context, addr netip.Prefix, ifaces ...string) (host.Claim, error) {
	p.n.Enter()
	defer p.n.Unlock()
	for _, iface := range ifaces {
		if _, ok := p.n.net.profiles[iface]; !ok && iface != host.BridgeExternal && iface != p.n.net.bridged {
			return host.Claim{}, fmt.Errorf("look for other users of %s: no interface %s", addr.Addr(), iface)
		}
	}
	a := addr.Addr().WithZone("").Unmap()
	if p.n.occupied[a] {
		return host.Claim{Hardware: "02:00:00:00:00:66"}, nil
	}
	for _, network := range p.n.proxied {
		if network.Contains(a) {
			return host.Claim{Hardware: "02:00:00:00:00:99", Proxy: true}, nil
		}
	}
	return host.Claim{}, nil
}
