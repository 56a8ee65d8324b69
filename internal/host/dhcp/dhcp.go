// Package dhcp gives a machine that is plugged into a network port of this node an address, by dnsmasq, and finds out
// whether another DHCP server answers there.
//
// lca-cli uses it beside the page of a relocation. The package imports netlink and the standard library.
package dhcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Link implements laptop.Link.
type Link struct {
	// Dir is where dnsmasq's configuration is written.
	Dir string
	// Program is dnsmasq.
	Program string
}

// New returns the link of the machine that runs this program.
func New() *Link { return &Link{Dir: "/run/lca-laptop", Program: "dnsmasq"} }

// Carrier implements laptop.Link: the port itself, or br-ex once that has taken it.
func (l *Link) Carrier(_ context.Context, port string) (string, error) {
	link, err := netlink.LinkByName(port)
	switch {
	case err != nil:
		return "", fmt.Errorf("find port %s: %w", port, err)
	case link.Attrs().OperState == netlink.OperDown:
		return "", fmt.Errorf("port %s has no signal", port)
	case link.Attrs().MasterIndex == 0:
		return port, nil
	}
	if _, err := netlink.LinkByName(host.BridgeExternal); err != nil {
		return "", fmt.Errorf("port %s is part of a bridge, and %s is not there: %w", port, host.BridgeExternal, err)
	}
	return host.BridgeExternal, nil
}

// Assign implements laptop.Link.
func (l *Link) Assign(_ context.Context, port string, address netip.Prefix) (added bool, err error) {
	link, err := netlink.LinkByName(port)
	if err != nil {
		return false, fmt.Errorf("find port %s: %w", port, err)
	}
	err = netlink.AddrAdd(link, &netlink.Addr{IPNet: toIPNet(address)})
	if errors.Is(err, syscall.EEXIST) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("give %s the address %s: %w", port, address, err)
	}
	return true, nil
}

// Has implements laptop.Link.
func (l *Link) Has(_ context.Context, port string, address netip.Prefix) (bool, error) {
	link, err := netlink.LinkByName(port)
	if err != nil {
		return false, fmt.Errorf("find port %s: %w", port, err)
	}
	all, err := netlink.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return false, fmt.Errorf("read the addresses of %s: %w", port, err)
	}
	return slices.ContainsFunc(all, func(a netlink.Addr) bool { return a.IPNet.String() == address.String() }), nil
}

// WithdrawFromAll takes the address from every link that has it.
func (l *Link) WithdrawFromAll(ctx context.Context, address netip.Prefix) error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list the links: %w", err)
	}
	var errs []error
	for _, link := range links {
		if has, err := l.Has(ctx, link.Attrs().Name, address); err == nil && has {
			errs = append(errs, l.Withdraw(ctx, link.Attrs().Name, address))
		}
	}
	return errors.Join(errs...)
}

// Withdraw implements laptop.Link. A port that has gone has no address.
func (l *Link) Withdraw(_ context.Context, port string, address netip.Prefix) error {
	link, err := netlink.LinkByName(port)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find port %s: %w", port, err)
	}
	err = netlink.AddrDel(link, &netlink.Addr{IPNet: toIPNet(address)})
	if err != nil && !errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fmt.Errorf("take %s from %s: %w", address, port, err)
	}
	return nil
}

// stopTime is how long dnsmasq has to end before it is killed.
const stopTime = 5 * time.Second

// Serve implements laptop.Link.
func (l *Link) Serve(ctx context.Context, config string) error {
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of dnsmasq: %w", err)
	}
	file := filepath.Join(l.Dir, "dnsmasq.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return fmt.Errorf("write the configuration of dnsmasq: %w", err)
	}
	cmd := exec.CommandContext(ctx, l.Program, "--keep-in-foreground", "--conf-file="+file, "--pid-file=", "--user=root")
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, stopTime
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was stopped
	}
	return fmt.Errorf("dnsmasq ended (%w): %s", err, out[max(0, len(out)-maxOutput):])
}

// maxOutput bounds what is kept of dnsmasq's words, in bytes.
const maxOutput = 500

func toIPNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
