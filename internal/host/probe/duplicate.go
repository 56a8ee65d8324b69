package probe

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// questions is how often an address is asked for before it counts as free: once more than RFC 5227 demands (PROBE_NUM),
// half a second apart. Two seconds in all exceed the 0.8 s for which a router may delay a proxied answer (Linux, proxy_delay).
const questions = 4

// errSilence ends a question without an answer.
var errSilence = errors.New("no machine answered")

// InUse implements host.Prober.
func (p *Prober) InUse(ctx context.Context, addr netip.Prefix, ifaces ...string) (host.Claim, error) {
	var links []*net.Interface
	for _, name := range ifaces {
		link, err := net.InterfaceByName(name)
		if err != nil {
			return host.Claim{}, fmt.Errorf("find other users of %s: %w", addr.Addr(), err)
		}
		if len(link.HardwareAddr) != 6 {
			return host.Claim{}, fmt.Errorf("find other users of %s: %s has no hardware address to ask from", addr.Addr(), name)
		}
		links = append(links, link)
	}
	target := addr.Addr().Unmap().WithZone("")
	who, err := whoHas(ctx, target, links)
	if err != nil || who == nil {
		return host.Claim{}, err
	}
	proxy, err := answersForAll(ctx, who, pickNeighbours(netip.PrefixFrom(target, addr.Bits())), links)
	return host.Claim{Hardware: who.String(), Proxy: proxy}, err
}

// unnamed stands for a machine whose answer carries no hardware address.
var unnamed = net.HardwareAddr{0, 0, 0, 0, 0, 0}

// whoHas asks on all links at once; nil means that no machine answered on any.
func whoHas(ctx context.Context, target netip.Addr, links []*net.Interface) (net.HardwareAddr, error) {
	window, cancel := context.WithTimeoutCause(ctx, questions*again, errSilence)
	defer cancel()
	type answer struct {
		who net.HardwareAddr
		err error
	}
	answers := make(chan answer, len(links))
	for _, link := range links {
		go func() {
			who, err := askNeighbour(window, target, netip.Addr{}, link, questions)
			if err == nil && len(who) == 0 {
				who = unnamed
			}
			answers <- answer{who, err}
		}()
	}
	var failures []error
	for range links {
		a := <-answers
		if a.err == nil {
			return a.who, nil
		}
		if !errors.Is(a.err, errSilence) {
			failures = append(failures, a.err)
		}
	}
	if err := errors.Join(failures...); err != nil {
		return nil, fmt.Errorf("find other users of %s: %w", target, err)
	}
	return nil, nil
}

// answersForAll says whether the same machine claims each of the addresses, none of which a host would have. Without
// addresses to ask for, no machine counts as a proxy.
func answersForAll(ctx context.Context, who net.HardwareAddr, addrs []netip.Addr, links []*net.Interface) (bool, error) {
	for _, a := range addrs {
		other, err := whoHas(ctx, a, links)
		if err != nil || other.String() != who.String() {
			return false, err
		}
	}
	return len(addrs) > 0, nil
}

// pickNeighbours picks two host addresses of the network, arbitrary but the same in each run; none from a network that is
// too small for that.
func pickNeighbours(p netip.Prefix) (out []netip.Addr) {
	const smallest = 5 // bits of a network in which two addresses prove something
	if p.Addr().BitLen()-p.Bits() < smallest {
		return nil
	}
	seed := sha256.Sum256([]byte(p.String()))
	for start := 0; len(out) < 2 && start < len(seed); start += 4 {
		a := p.Masked().Addr().AsSlice()
		// Only the last octets vary: the network has these bits at least.
		free := min(p.Addr().BitLen()-p.Bits(), 16)
		v := uint16(seed[start])<<8 | uint16(seed[start+1]) // start is a multiple of 4 below 32
		v &= 1<<free - 1
		a[len(a)-1] |= byte(v)
		a[len(a)-2] |= byte(v >> 8)
		n, _ := netip.AddrFromSlice(a)
		edge := v == 0 || v == 1<<free-1
		if !edge && n != p.Addr() && (len(out) == 0 || out[0] != n) {
			out = append(out, n)
		}
	}
	return out
}
