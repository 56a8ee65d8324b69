package network

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// proof holds a new network against what worked before.
type proof struct {
	node   Ports
	before netstate.Document
	want   netstate.Document
	// suite asks the gateways that the document names.
	suite probing.Suite
	// unchanged: the document is in place.
	unchanged bool
	families  []netstate.Family
	named     []probing.Gateway
}

// probeTime is how long a gateway has to answer, links that have just come up included.
const probeTime = 20 * time.Second

// chooseGateways notes what has to answer after the change: the gateway of each family in which it answers before it, and where none
// does and the only uplink changes, those that the document names. A change of the only uplink that nothing could prove is
// refused.
func (p *proof) chooseGateways(ctx context.Context) error {
	if p.node.Prober == nil || p.unchanged {
		return nil
	}
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		if gw, iface, ok := gatewayOf(p.before, f); ok {
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			if p.node.Prober.Gateway(short, gw, iface) == nil {
				p.families = append(p.families, f)
			}
			cancel()
		}
	}
	uplink, only := netpolicy.OnlyUplink(p.want, p.before)
	if !only || len(p.families) > 0 {
		return nil
	}
	if p.named, _ = netpolicy.DefaultGateways(p.want); len(p.named) > 0 {
		return nil
	}
	return fmt.Errorf("the document changes %s, the node's only uplink, whose gateway does not answer now, so nothing could prove the "+
		"new network: repair the network first, name a default route whose gateway answers, or give --no-probe", uplink)
}

func gatewayOf(d netstate.Document, f netstate.Family) (netip.Addr, string, bool) {
	r, ok := netstate.DefaultRoute(d, f, "")
	if !ok {
		return netip.Addr{}, "", false
	}
	gw, err := netip.ParseAddr(r.NextHopAddress)
	return gw, r.NextHopInterface, err == nil
}

// probeGateways asks the gateways of the new network. A family whose default route the document takes away is not asked.
func (p *proof) probeGateways(ctx context.Context) error {
	for _, f := range p.families {
		after, err := p.node.Network.Observe(ctx)
		if err != nil {
			return err
		}
		gw, iface, ok := gatewayOf(after, f)
		if !ok {
			if p.givesUp(f) {
				continue
			}
			return fmt.Errorf("the %s default route is missing, and the document does not remove it", f)
		}
		long, cancel := context.WithTimeout(ctx, probeTime)
		err = p.node.Prober.Gateway(long, gw, iface)
		cancel()
		if err != nil {
			return fmt.Errorf("the %s gateway answered before the change and does not answer after it: %w", f, err)
		}
	}
	if len(p.named) == 0 {
		return nil
	}
	return p.suite.Prove(ctx, []probing.Probe{{Kind: probing.KindGateway, Gateways: p.named}})
}

// givesUp says that the document orders the default route of the family away.
func (p *proof) givesUp(f netstate.Family) bool {
	_, _, left := gatewayOf(netstate.Merge(p.before, p.want), f)
	if left || p.want.Routes == nil {
		return false
	}
	for _, r := range p.want.Routes.Config {
		if family, ok := r.Family(); r.Removes() && (!ok || family == f) {
			return true
		}
	}
	return false
}
