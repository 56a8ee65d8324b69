package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	laptopCard = "laptop0" // in the laptop's namespace: its network card
	laptopPort = "port1"   // in the LAN namespace: the other end of its cable

	// DHCPClient is the program by which a laptop gets its address.
	DHCPClient = "udhcpc"
	// leaseWithin is how long a laptop's address takes at most: a node looks for other servers first, and tries again where a port
	// was not ready.
	leaseWithin = 2 * time.Minute
)

// Laptop is a machine on the LAN's switch, in a namespace of its own.
type Laptop struct {
	network Network
	client  *exec.Cmd
}

// laptop is the name of its namespace.
func (n Network) laptop() string { return n.Name + "-laptop" }

// PlugLaptop connects a laptop without an address, and starts its DHCP client, which runs until Unplug.
func (n Network) PlugLaptop(ctx context.Context) (*Laptop, error) {
	l := &Laptop{network: n}
	for _, arguments := range []string{
		"netns add " + n.laptop(),
		"-n " + n.laptop() + " link set lo up",
		"link add " + laptopCard + " netns " + n.laptop() + " type veth peer name " + laptopPort + " netns " + n.LAN(),
		"-n " + n.LAN() + " link set " + laptopPort + " master " + bridge + " up",
		"-n " + n.laptop() + " link set " + laptopCard + " up",
	} {
		if err := run(ctx, "ip", strings.Fields(arguments)...); err != nil {
			return nil, errors.Join(err, l.Unplug(context.WithoutCancel(ctx)))
		}
	}
	if err := l.startClient(); err != nil {
		return nil, errors.Join(err, l.Unplug(context.WithoutCancel(ctx)))
	}
	return l, nil
}

// leaseScript is what the DHCP client runs when it gets an address, renews it or loses it. What a server says of routers and
// name servers is written down, not used.
const leaseScript = `#!/bin/sh
case "$1" in
deconfig) ip address flush dev "$interface" ;;
bound | renew) ip address replace "$ip/$mask" dev "$interface" && echo "$ip/$mask router=$router dns=$dns" ;;
esac
`

func (l *Laptop) startClient() error {
	script := filepath.Join(l.network.Dir, "laptop-lease")
	if err := os.WriteFile(script, []byte(leaseScript), 0o755); err != nil {
		return fmt.Errorf("write the script of the laptop's DHCP client: %w", err)
	}
	log, err := os.Create(l.log())
	if err != nil {
		return fmt.Errorf("start the laptop's DHCP client: %w", err)
	}
	defer log.Close()
	argv := append(l.Enter(), DHCPClient, "-f", "-a", "-i", laptopCard, "-t", "1", "-T", "1", "-A", "1", "-s", script)
	client := exec.Command(argv[0], argv[1:]...)
	client.Stdout, client.Stderr = log, log
	if err := client.Start(); err != nil {
		return fmt.Errorf("start the laptop's DHCP client: %w", err)
	}
	l.client = client
	return nil
}

func (l *Laptop) log() string { return filepath.Join(l.network.Dir, "laptop-dhcp.log") }

// Enter is the command that runs a program, which follows it, on the laptop's network.
func (l *Laptop) Enter() []string {
	return []string{"nsenter", "--net=" + spacePath(l.network.laptop()), "--"}
}

// AwaitAddress waits for the laptop's IPv4 address.
func (l *Laptop) AwaitAddress(ctx context.Context) (netip.Prefix, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseWithin)
	defer cancel()
	for {
		out, _ := exec.CommandContext(ctx, "ip", "-n", l.network.laptop(), "-4", "-o", "address", "show", "dev", laptopCard).Output()
		for _, word := range strings.Fields(string(out)) {
			if prefix, err := netip.ParsePrefix(word); err == nil {
				return prefix, nil
			}
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(l.log()) // said for the error alone
			return netip.Prefix{}, fmt.Errorf("wait for the laptop's address: %w; its client: %s", ctx.Err(), log)
		case <-time.After(pollEvery):
		}
	}
}

// answerWithin bounds one attempt to connect.
const answerWithin = 5 * time.Second

// Reaches says whether the laptop gets a connection to an address and port.
func (l *Laptop) Reaches(ctx context.Context, address string) bool {
	return inside(l.network.laptop(), func() error {
		conn, err := (&net.Dialer{Timeout: answerWithin}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}) == nil
}

const pollEvery = 100 * time.Millisecond

// Lease is what the DHCP client was given last: address, router, name servers.
func (l *Laptop) Lease() (string, error) {
	log, err := os.ReadFile(l.log())
	return string(log), err
}

// Unplug ends the laptop. One that is gone is no error.
func (l *Laptop) Unplug(ctx context.Context) error {
	if l.client != nil {
		_ = l.client.Process.Kill()
		_ = l.client.Wait() // it was killed
		l.client = nil
	}
	if !l.network.exists(l.network.laptop()) {
		return nil
	}
	return run(ctx, "ip", "netns", "del", l.network.laptop())
}
