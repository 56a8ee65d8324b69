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

// questions are asked for an address that nobody seems to have: one more than RFC 5227 asks for (PROBE_NUM), half a second apart.
// Two seconds in all are patient enough for a router, which may hold back an answer for others for 0.8 s (Linux, proxy_delay).
const questions = 4

// errSilence ends a question that nobody answered.
var errSilence = errors.New("nobody answered")

// InUse implements host.Prober.
func (p *Prober) InUse(ctx context.Context, addr netip.Prefix, ifaces ...string) (host.Claim, error) {
	var links []*net.Interface
	for _, name := range ifaces {
		link, err := net.InterfaceByName(name)
		if err != nil {
			return host.Claim{}, fmt.Errorf("look for other users of %s: %w", addr.Addr(), err)
		}
		if len(link.HardwareAddr) != 6 {
			return host.Claim{}, fmt.Errorf("look for other users of %s: %s has no hardware addresses to ask for", addr.Addr(), name)
		}
		links = append(links, link)
	}
	target := addr.Addr().Unmap().WithZone("")
	who, err := whoHas(ctx, target, links)
	if err != nil || who == nil {
		return host.Claim{}, err
	}
	proxy, err := answersForAll(ctx, who, neighbours(netip.PrefixFrom(target, addr.Bits())), links)
	return host.Claim{Hardware: who.String(), Proxy: proxy}, err
}

// unnamed stands for a machine that did not say which card it has.
var unnamed = net.HardwareAddr{0, 0, 0, 0, 0, 0}

// whoHas asks all links at once; nil means that nobody answered on any.
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
			who, err := ask(window, target, netip.Addr{}, link, questions)
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
		return nil, fmt.Errorf("look for other users of %s: %w", target, err)
	}
	return nil, nil
}

// answersForAll says whether the same machine claims each of the addresses, of which a host would have
// none. Without addresses to ask for nobody is taken for a proxy.
func answersForAll(ctx context.Context, who net.HardwareAddr, addrs []netip.Addr, links []*net.Interface) (bool, error) {
	for _, a := range addrs {
		other, err := whoHas(ctx, a, links)
		if err != nil || other.String() != who.String() {
			return false, err
		}
	}
	return len(addrs) > 0, nil
}

// neighbours picks two host addresses of the network that look arbitrary and are the same each time.
// A network too small to have arbitrary ones gives none.
func neighbours(p netip.Prefix) (out []netip.Addr) {
	const smallest = 5 // bits of a network in which two addresses say something
	if p.Addr().BitLen()-p.Bits() < smallest {
		return nil
	}
	seed := sha256.Sum256([]byte(p.String()))
	for start := 0; len(out) < 2 && start < len(seed); start += 4 {
		a := p.Masked().Addr().AsSlice()
		// Only the last octets vary: the network has these bits at least.
		free := min(p.Addr().BitLen()-p.Bits(), 16)
		v := uint16(seed[start])<<8 | uint16(seed[start+1])
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
