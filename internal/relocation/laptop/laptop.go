// Package laptop gives a technician's laptop an address on the node's network port while the page is open, so that nobody
// has to set one up. It disturbs no network: where another DHCP server answers, it gives none.
//
// lca-cli calls it beside the page. It imports the renderer of dnsmasq's configuration and no adapter.
package laptop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"go4.org/netipx"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/dnsmasq"
)

// Link is the node's network port.
type Link interface {
	// Carrier is what has the port's addresses: the port, or the bridge that it is in. A port without a signal has none.
	Carrier(ctx context.Context, port string) (string, error)
	// Assign gives the port an address that outlives no reboot; one that it has stays.
	Assign(ctx context.Context, port string, address netip.Prefix) error
	// Withdraw takes the address away.
	Withdraw(ctx context.Context, port string, address netip.Prefix) error
	// OtherServer is a DHCP server that answers on the port; the zero value for none.
	OtherServer(ctx context.Context, port string) (netip.Addr, error)
	// Serve runs dnsmasq with the configuration until ctx ends.
	Serve(ctx context.Context, config string) error
}

// Desk is the place where the laptop is plugged in.
type Desk struct {
	Link Link
	// Port is the network port, Address the node's own there, with the network that it shares with the laptop.
	Port    string
	Address netip.Prefix
	// LeaseFile is where dnsmasq keeps the lease.
	LeaseFile string
	Log       *slog.Logger
	// Pause lies between two tries where the port is not ready.
	Pause time.Duration
}

// leaseTime is short: the laptop is needed for minutes.
const leaseTime = "10m"

// Config is dnsmasq's on that link: one address, of the laptop, beside the node's. No router and no name server is named: the laptop
// keeps those of its other networks.
func (d Desk) Config(on string) (string, error) {
	at, err := d.laptop()
	if err != nil {
		return "", err
	}
	return dnsmasq.Config{
		Network: "laptop", Interface: on, Subnet: d.Address.Masked(), Range: netipx.IPRangeFrom(at, at),
		Static:    []dnsmasq.Static{{What: "the node's own address", Range: netipx.IPRangeFrom(d.Address.Addr(), d.Address.Addr())}},
		LeaseTime: leaseTime, LeaseFile: d.LeaseFile,
	}.Render()
}

// laptop is the address after the node's, or the one before it where that is the last.
func (d Desk) laptop() (netip.Addr, error) {
	last := netipx.PrefixLastIP(d.Address.Masked())
	for _, a := range []netip.Addr{d.Address.Addr().Next(), d.Address.Addr().Prev()} {
		if d.Address.Contains(a) && a != last && a != d.Address.Masked().Addr() {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("network %s has no room for a laptop", d.Address)
}

// Open serves the laptop until ctx ends. What fails is logged and tried again: the page does not depend on it.
func (d Desk) Open(ctx context.Context) {
	last := ""
	for ctx.Err() == nil {
		err := d.turn(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != last {
			last = err.Error()
			d.Log.Warn("a laptop gets no address from this node", "port", d.Port, "reason", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(d.Pause):
		}
	}
}

// errOther: another machine gives addresses on this network.
var errOther = errors.New("another DHCP server answers on the network")

// turn serves for a while, and takes everything away then. Other servers are asked for before each turn.
func (d Desk) turn(ctx context.Context) (err error) {
	on, err := d.Link.Carrier(ctx, d.Port)
	if err != nil {
		return err
	}
	other, err := d.Link.OtherServer(ctx, on)
	if err != nil {
		return err
	}
	if other.IsValid() {
		return fmt.Errorf("%w: %s", errOther, other)
	}
	config, err := d.Config(on)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, d.Link.Withdraw(context.WithoutCancel(ctx), on, d.Address))
	}()
	if err := d.Link.Assign(ctx, on, d.Address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, againAfter)
	defer cancel()
	d.Log.Info("a laptop on this port gets an address", "port", d.Port, "node", d.Address.String())
	return d.Link.Serve(ctx, config)
}

// againAfter is how long dnsmasq runs before other servers are asked for again: the port may be plugged into a site's
// network meanwhile.
const againAfter = time.Minute
