package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// Uplink is the node's network card, and UplinkMAC its address: the node's .link file names the card by it.
	Uplink = "uplink0"
	// UplinkMAC is fixed, because the node's cluster and its profiles are tied to it.
	UplinkMAC = "52:54:00:aa:00:01"

	// Bond is the uplink of a node that has a bond, of Uplink and Second: its card 1.
	Bond = "bond0"
	// Second is the second port of Bond.
	Second = "uplink1"

	cardPrefix = "card" // in the LAN namespace, with a number: the other end of an extra card's cable

	bridge = "lan0"  // in the LAN namespace: carries the gateways' and servers' addresses
	port   = "port0" // in the LAN namespace: the other end of the node's cable
)

// Network is the wiring of the lab called Name. Dir holds its run-time files.
type Network struct {
	Name string
	Dir  string
}

// LAN is the name of the namespace of the outside world.
func (n Network) LAN() string { return n.Name + "-lan" }

// Node is the name of the namespace that a container is given.
func (n Network) Node() string { return n.Name + "-node" }

// Up makes the LAN with both sites' addresses and its DNS server. Run again, it restores what tests have broken.
func (n Network) Up(ctx context.Context) error {
	if !n.exists(n.LAN()) {
		if err := run(ctx, "ip", "netns", "add", n.LAN()); err != nil {
			return err
		}
	}
	if err := n.Outside(sysctls); err != nil {
		return err
	}
	if err := n.lan(ctx, "link set lo up"); err != nil {
		return err
	}
	if n.lan(ctx, "link show dev "+bridge) != nil {
		if err := n.lan(ctx, "link add "+bridge+" type bridge stp_state 0 forward_delay 0"); err != nil {
			return err
		}
	}
	if err := n.lan(ctx, "link set "+bridge+" up"); err != nil {
		return err
	}
	for _, site := range []Site{Home(), Away()} {
		for _, address := range site.addresses() {
			if err := n.Restore(ctx, address); err != nil {
				return err
			}
		}
	}
	if n.hasPort(ctx) {
		if err := n.LinkUp(ctx); err != nil {
			return err
		}
	}
	return n.startDNS(ctx)
}

// Down removes all namespaces and the DNS server. Nothing there is no error.
func (n Network) Down(ctx context.Context) error {
	n.stopDNS()
	var errs []error
	for _, space := range []string{n.laptop(), n.Node(), n.LAN()} {
		if n.exists(space) {
			errs = append(errs, run(ctx, "ip", "netns", "del", space))
		}
	}
	return errors.Join(errs...)
}

// PlugContainer gives the node a namespace with a new network card, as a machine has after its power-on. What the previous
// boot left in the kernel (addresses, bridges, taps) is gone with the old namespace.
func (n Network) PlugContainer(ctx context.Context) error {
	if n.exists(n.Node()) {
		if err := run(ctx, "ip", "netns", "del", n.Node()); err != nil {
			return err
		}
	}
	n.unplug(ctx)
	if err := run(ctx, "ip", "netns", "add", n.Node()); err != nil {
		return err
	}
	if err := run(ctx, "ip", "-n", n.Node(), "link", "set", "lo", "up"); err != nil {
		return err
	}
	err := run(ctx, "ip", "link", "add", Uplink, "netns", n.Node(), "address", UplinkMAC,
		"type", "veth", "peer", "name", port, "netns", n.LAN())
	if err != nil {
		return err
	}
	return n.attach(ctx)
}

// PlugTap makes the tap device in the LAN that a virtual machine's network card is connected to, and returns its name.
func (n Network) PlugTap(ctx context.Context) (string, error) {
	n.unplug(ctx)
	if err := n.lan(ctx, "tuntap add "+port+" mode tap"); err != nil {
		return "", err
	}
	return port, n.attach(ctx)
}

// CardMAC is the address of an extra network card of a virtual machine; they are numbered from 1.
func CardMAC(number int) string { return fmt.Sprintf("52:54:00:aa:01:%02x", number) }

// PlugCard is PlugTap for an extra network card.
func (n Network) PlugCard(ctx context.Context, number int) (string, error) {
	tap := fmt.Sprintf("%s%d", cardPrefix, number)
	if n.lan(ctx, "link show dev "+tap) == nil {
		if err := n.lan(ctx, "link del "+tap); err != nil {
			return "", err
		}
	}
	if err := n.lan(ctx, "tuntap add "+tap+" mode tap"); err != nil {
		return "", err
	}
	return tap, n.lan(ctx, "link set "+tap+" master "+bridge+" up")
}

func (n Network) attach(ctx context.Context) error {
	return n.lan(ctx, "link set "+port+" master "+bridge+" up")
}

func (n Network) unplug(ctx context.Context) {
	if n.hasPort(ctx) {
		_ = n.lan(ctx, "link del "+port)
	}
}

func (n Network) hasPort(ctx context.Context) bool { return n.lan(ctx, "link show dev "+port) == nil }

// Drop takes an address away from the LAN: the gateway or DNS server that had it is dead.
func (n Network) Drop(ctx context.Context, address netip.Prefix) error {
	return n.lan(ctx, "addr del "+address.String()+" dev "+bridge)
}

// Restore gives it back.
func (n Network) Restore(ctx context.Context, address netip.Prefix) error {
	return n.add(ctx, address, bridge)
}

func (n Network) add(ctx context.Context, address netip.Prefix, device string) error {
	nodad := ""
	if address.Addr().Is6() {
		nodad = " nodad"
	}
	return n.lan(ctx, "addr replace "+address.String()+" dev "+device+nodad)
}

// LinkLocal is the IPv6 address that the LAN's router has on its own link.
func (n Network) LinkLocal(ctx context.Context) (netip.Addr, error) {
	out, err := exec.CommandContext(ctx, "ip", "-n", n.LAN(), "-6", "-o", "address", "show", "dev", bridge, "scope", "link").Output()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("ask for the link-local address of %s: %w", bridge, err)
	}
	for _, word := range strings.Fields(string(out)) {
		if prefix, err := netip.ParsePrefix(word); err == nil {
			return prefix.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("%s has no link-local address", bridge)
}

// LinkDown pulls the node's cable at the LAN's end.
func (n Network) LinkDown(ctx context.Context) error { return n.lan(ctx, "link set "+port+" down") }

// LinkUp plugs it in again.
func (n Network) LinkUp(ctx context.Context) error { return n.lan(ctx, "link set "+port+" up") }

func (n Network) exists(space string) bool {
	_, err := os.Stat(spacePath(space))
	return err == nil
}

// sysctls sets what the LAN's kernel must do otherwise than by default. It runs inside the LAN.
func sysctls() error {
	for file, value := range map[string]string{
		// A gateway that is dropped must not take the DNS server beside it along.
		"/proc/sys/net/ipv4/conf/all/promote_secondaries": "1",
		// A site in a VLAN must not be found in the untagged LAN.
		"/proc/sys/net/ipv4/conf/all/arp_ignore": "1",
	} {
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			return fmt.Errorf("set up the LAN's kernel: %w", err)
		}
	}
	return nil
}

// lan runs ip with space-separated arguments in the LAN namespace.
func (n Network) lan(ctx context.Context, arguments string) error {
	return run(ctx, "ip", append([]string{"-n", n.LAN()}, strings.Fields(arguments)...)...)
}

func spacePath(space string) string { return filepath.Join("/run/netns", space) }

func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
