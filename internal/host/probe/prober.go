package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Prober implements host.Prober. Gateway and DNS ask again and again until an answer comes
// or ctx ends, so give each call a deadline; InUse takes two seconds where no machine answers.
type Prober struct{}

var _ host.Prober = (*Prober)(nil)

// New makes a Prober.
func New() *Prober { return &Prober{} }

// again is the pause between two questions.
const again = 500 * time.Millisecond

// Gateway implements host.Prober. The next hop is asked for its hardware address and
// for an echo at once; either answer counts, for many routers drop echoes.
func (p *Prober) Gateway(ctx context.Context, gw netip.Addr, iface string) error {
	link, err := net.InterfaceByName(iface)
	if err != nil {
		return fmt.Errorf("probe gateway %s: %w", gw, err)
	}
	gw = gw.Unmap().WithZone("")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error, 2)
	go func() { answers <- resolveGateway(ctx, gw, link) }()
	go func() { answers <- probeEcho(ctx, gw, link) }()
	var failures []error
	for range cap(answers) {
		err := <-answers
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return fmt.Errorf("gateway %s on %s gives no sign of life: %w", gw, iface, errors.Join(failures...))
}

// resolveGateway asks for the hardware address of the next hop until it answers.
func resolveGateway(ctx context.Context, gw netip.Addr, link *net.Interface) error {
	if link.Flags&net.FlagLoopback != 0 || len(link.HardwareAddr) != 6 {
		return errors.New("the link has no hardware addresses to ask for")
	}
	if _, err := askNeighbour(ctx, gw, sourceFor(gw, link), link, 0); err != nil {
		return fmt.Errorf("neighbour discovery: %w", err)
	}
	return nil
}

// sourceFor picks the link's own address on the same network as the target, or
// of the same scope; none where the link has none.
func sourceFor(target netip.Addr, link *net.Interface) netip.Addr {
	addrs, err := link.Addrs()
	if err != nil {
		return netip.Addr{}
	}
	var fallback netip.Addr
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().Is4() != target.Is4() {
			continue
		}
		if p.Contains(target) && p.Addr() != target {
			return p.Addr()
		}
		if p.Addr().IsLinkLocalUnicast() == target.IsLinkLocalUnicast() && !fallback.IsValid() && p.Addr() != target {
			fallback = p.Addr()
		}
	}
	return fallback
}
