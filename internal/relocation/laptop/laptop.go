// Package laptop gives a technician's laptop an address on the node's network port while the page is open. It disturbs
// no network: where another DHCP server answers, it gives none.
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
	// Assign gives the link an address that outlives no reboot. added is false where it has the address already.
	Assign(ctx context.Context, port string, address netip.Prefix) (added bool, err error)
	// Has says whether the link has the address still: whatever configures the link may take it away.
	Has(ctx context.Context, port string, address netip.Prefix) (bool, error)
	// Withdraw takes the address away.
	Withdraw(ctx context.Context, port string, address netip.Prefix) error
	// OtherServer is another machine's DHCP server that answers on the port; the zero value for none.
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
	// NodesOwn: the cluster knows the node by Address, so that a bridge keeps it.
	NodesOwn bool
	// Yields is true while the node chooses the address by which its cluster knows it: the desk's must not be among those on the
	// port then. nil for never.
	Yields func() bool
	// LeaseFile is where dnsmasq keeps the lease.
	LeaseFile string
	Log       *slog.Logger
	// Pause lies between two tries where the port is not ready, Again between two looks for other servers: the port may be
	// plugged into a site's network meanwhile.
	Pause, Again time.Duration
}

// leaseTime is short: the laptop is needed for minutes.
const leaseTime = "10m"

// Config is dnsmasq's on that link: one address, of the laptop, beside the node's. No router and no name server is named: the laptop
// keeps those of its other networks.
func (d Desk) Config(on string) (string, error) {
	at, err := d.laptopAddress()
	if err != nil {
		return "", err
	}
	return dnsmasq.Config{
		Network: "laptop", Interface: on, Subnet: d.Address.Masked(), Range: netipx.IPRangeFrom(at, at),
		Static:    []dnsmasq.Static{{What: "the node's own address", Range: netipx.IPRangeFrom(d.Address.Addr(), d.Address.Addr())}},
		LeaseTime: leaseTime, LeaseFile: d.LeaseFile,
	}.Render()
}

// laptopAddress is the address after the node's, or the one before it where that is the last.
func (d Desk) laptopAddress() (netip.Addr, error) {
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
		err := d.serveOnce(ctx)
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

// serveOnce serves until dnsmasq ends, another server answers, or the addresses of the port move to a bridge, and takes
// everything away then.
func (d Desk) serveOnce(ctx context.Context) (err error) {
	if d.mustYield() {
		return errYields
	}
	on, err := d.Link.Carrier(ctx, d.Port)
	if err != nil {
		return fmt.Errorf("read the carrier of %s: %w", d.Port, err)
	}
	if err := d.checkNoOtherServer(ctx, on); err != nil {
		return err
	}
	config, err := d.Config(on)
	if err != nil {
		return fmt.Errorf("render the DHCP configuration for %s: %w", on, err)
	}
	added, err := d.Link.Assign(ctx, on, d.Address)
	if err != nil {
		return fmt.Errorf("assign %s to %s: %w", d.Address, on, err)
	}
	if added && (on == d.Port || !d.NodesOwn) {
		defer func() { err = errors.Join(err, d.Link.Withdraw(context.WithoutCancel(ctx), on, d.Address)) }()
	}
	d.Log.Info("a laptop on this port gets an address", "port", d.Port, "node", d.Address.String())
	ctx, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		stop(d.watchPort(ctx, on))
	}()
	err = d.Link.Serve(ctx, config)
	stop(nil)
	<-watched
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

func (d Desk) mustYield() bool { return d.Yields != nil && d.Yields() }

var (
	errYields = errors.New("the node is choosing its own address")
	errTaken  = errors.New("the address was taken from the port")
)

// errMoved: the bridge has taken the port's addresses.
var errMoved = errors.New("the addresses of the port have moved")

// signalPause lies between two looks at the port's signal. Moving the cable to another socket takes longer.
const signalPause = time.Second

// watchPort returns when this node must not serve any more. After a loss of the signal the port may be plugged in elsewhere.
func (d Desk) watchPort(ctx context.Context, on string) error {
	next := time.Now().Add(d.Again)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(d.Again, signalPause)):
		}
		if now, err := d.Link.Carrier(ctx, d.Port); err != nil || now != on {
			return errors.Join(errMoved, err)
		}
		if d.mustYield() {
			return errYields
		}
		if has, err := d.Link.Has(ctx, on, d.Address); err != nil || !has {
			return errors.Join(errTaken, err)
		}
		if time.Now().Before(next) {
			continue
		}
		next = time.Now().Add(d.Again)
		if err := d.checkNoOtherServer(ctx, on); err != nil {
			return err
		}
	}
}

// checkNoOtherServer fails where another DHCP server answers, or that cannot be found out.
func (d Desk) checkNoOtherServer(ctx context.Context, on string) error {
	other, err := d.Link.OtherServer(ctx, on)
	if err == nil && other.IsValid() {
		err = fmt.Errorf("%w: %s", errOther, other)
	}
	return err
}
