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

// Access gives the laptop its way to the page, from the time it is plugged in.
type Access struct {
	Link Link
	// Port is the network port, Address the node's own there, with the network that it shares with the laptop.
	Port    string
	Address netip.Prefix
	// NodesOwn: the cluster knows the node by Address, so that a bridge keeps it.
	NodesOwn bool
	// Yields is true while the node chooses the address by which its cluster knows it: Address must not be among those on the
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
func (a Access) Config(on string) (string, error) {
	at, err := a.laptopAddress()
	if err != nil {
		return "", err
	}
	return dnsmasq.Config{
		Network: "laptop", Interface: on, Subnet: a.Address.Masked(), Range: netipx.IPRangeFrom(at, at),
		Static:    []dnsmasq.Static{{What: "the node's own address", Range: netipx.IPRangeFrom(a.Address.Addr(), a.Address.Addr())}},
		LeaseTime: leaseTime, LeaseFile: a.LeaseFile,
	}.Render()
}

// laptopAddress is the address after the node's, or the one before it where that is the last.
func (a Access) laptopAddress() (netip.Addr, error) {
	last := netipx.PrefixLastIP(a.Address.Masked())
	for _, at := range []netip.Addr{a.Address.Addr().Next(), a.Address.Addr().Prev()} {
		if a.Address.Contains(at) && at != last && at != a.Address.Masked().Addr() {
			return at, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("network %s has no room for a laptop", a.Address)
}

// Open serves the laptop until ctx ends. What fails is logged and tried again: the page does not depend on it.
func (a Access) Open(ctx context.Context) {
	last := ""
	for ctx.Err() == nil {
		err := a.serveOnce(ctx)
		if err != nil && ctx.Err() == nil && err.Error() != last {
			last = err.Error()
			a.Log.Warn("a laptop gets no address from this node", "port", a.Port, "reason", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(a.Pause):
		}
	}
}

// errOther: another machine gives addresses on this network.
var errOther = errors.New("another DHCP server answers on the network")

// serveOnce serves until dnsmasq ends, another server answers, or the addresses of the port move to a bridge, and takes
// everything away then.
func (a Access) serveOnce(ctx context.Context) (err error) {
	if a.mustYield() {
		return errYields
	}
	on, err := a.Link.Carrier(ctx, a.Port)
	if err != nil {
		return fmt.Errorf("read the carrier of %s: %w", a.Port, err)
	}
	if err := a.checkNoOtherServer(ctx, on); err != nil {
		return err
	}
	config, err := a.Config(on)
	if err != nil {
		return fmt.Errorf("render the DHCP configuration for %s: %w", on, err)
	}
	added, err := a.Link.Assign(ctx, on, a.Address)
	if err != nil {
		return fmt.Errorf("assign %s to %s: %w", a.Address, on, err)
	}
	if added && (on == a.Port || !a.NodesOwn) {
		defer func() { err = errors.Join(err, a.Link.Withdraw(context.WithoutCancel(ctx), on, a.Address)) }()
	}
	a.Log.Info("a laptop on this port gets an address", "port", a.Port, "node", a.Address.String())
	ctx, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		stop(a.watchPort(ctx, on))
	}()
	err = a.Link.Serve(ctx, config)
	stop(nil)
	<-watched
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

func (a Access) mustYield() bool { return a.Yields != nil && a.Yields() }

var (
	errYields = errors.New("the node is choosing its own address")
	errTaken  = errors.New("the address was taken from the port")
)

// errMoved: the bridge has taken the port's addresses.
var errMoved = errors.New("the addresses of the port have moved")

// signalPause lies between two looks at the port's signal. Moving the cable to another socket takes longer.
const signalPause = time.Second

// watchPort returns when this node must not serve any more. After a loss of the signal the port may be plugged in elsewhere.
func (a Access) watchPort(ctx context.Context, on string) error {
	next := time.Now().Add(a.Again)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(a.Again, signalPause)):
		}
		if now, err := a.Link.Carrier(ctx, a.Port); err != nil || now != on {
			return errors.Join(errMoved, err)
		}
		if a.mustYield() {
			return errYields
		}
		if has, err := a.Link.Has(ctx, on, a.Address); err != nil || !has {
			return errors.Join(errTaken, err)
		}
		if time.Now().Before(next) {
			continue
		}
		next = time.Now().Add(a.Again)
		if err := a.checkNoOtherServer(ctx, on); err != nil {
			return err
		}
	}
}

// checkNoOtherServer fails where another DHCP server answers, or that cannot be found out.
func (a Access) checkNoOtherServer(ctx context.Context, on string) error {
	other, err := a.Link.OtherServer(ctx, on)
	if err == nil && other.IsValid() {
		err = fmt.Errorf("%w: %s", errOther, other)
	}
	return err
}
