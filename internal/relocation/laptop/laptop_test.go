package laptop_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/laptop"
)

// link is a port on whose network another server may answer.
type link struct {
	mu     sync.Mutex
	on     string
	other  netip.Addr
	fail   error
	has    map[string]bool
	served []string
	// asked and serving are called at each question for servers, and when dnsmasq runs.
	asked, serving func()
	// unplugged is called at each look at a port without a signal; nil for a port with one.
	unplugged func()
}

func (l *link) Carrier(context.Context, string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unplugged != nil {
		l.unplugged()
		return "", errors.New("no signal")
	}
	return l.on, nil
}

func (l *link) Assign(_ context.Context, port string, a netip.Prefix) (bool, error) {
	added := !l.has[port+" "+a.String()]
	l.has[port+" "+a.String()] = true
	return added, nil
}

func (l *link) Has(_ context.Context, port string, a netip.Prefix) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.has[port+" "+a.String()], nil
}

func (l *link) Withdraw(_ context.Context, port string, a netip.Prefix) error {
	delete(l.has, port+" "+a.String())
	return nil
}

func (l *link) OtherServer(context.Context, string) (netip.Addr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked != nil {
		l.asked()
	}
	return l.other, l.fail
}

// Serve implements laptop.Link: dnsmasq runs until it is stopped.
func (l *link) Serve(ctx context.Context, config string) error {
	l.mu.Lock()
	l.served = append(l.served, config)
	l.serving()
	l.mu.Unlock()
	<-ctx.Done()
	return nil
}

func newAccess(l laptop.Link, address string) laptop.Access {
	return laptop.Access{Link: l, Port: "enp1s0", Address: netip.MustParsePrefix(address), Log: slog.New(slog.DiscardHandler)}
}

func TestALaptopGetsTheOneAddressWhileThePageIsOpen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &link{on: "enp1s0", has: map[string]bool{}, serving: cancel}
	newAccess(l, "192.0.2.1/29").Open(ctx)
	require.Len(t, l.served, 1)
	require.Contains(t, l.served[0], "interface=enp1s0\nbind-dynamic\n")
	require.Contains(t, l.served[0], "dhcp-range=192.0.2.2,192.0.2.2,255.255.255.248,10m\n")
	require.NotContains(t, l.served[0], "authoritative")
	require.Empty(t, l.has, "the address is taken away at the end")
}

func TestANetworkWithAServerOfItsOwnIsLeftAlone(t *testing.T) {
	for name, l := range map[string]*link{
		"another server":      {other: netip.MustParseAddr("198.51.100.1")},
		"it cannot be judged": {fail: errors.New("no raw sockets")},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l.on, l.has, l.asked = "enp1s0", map[string]bool{}, cancel
			newAccess(l, "192.0.2.1/29").Open(ctx)
			require.Empty(t, l.served)
			require.Empty(t, l.has)
		})
	}
}

// The port is plugged into a site's network while the page is open, or a bridge takes it.
func TestItEndsWhenTheNetworkChanges(t *testing.T) {
	for name, change := range map[string]func(*link){
		"another server": func(l *link) { l.other = netip.MustParseAddr("198.51.100.1") },
		"a bridge":       func(l *link) { l.on, l.fail = "br-ex", errors.New("no more") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l := &link{on: "enp1s0", has: map[string]bool{}}
			l.serving = func() {
				change(l)
				seen := 0
				l.asked = func() {
					if seen++; seen > 1 || name == "a bridge" { // it has ended, and asks anew
						cancel()
					}
				}
			}
			newAccess(l, "192.0.2.1/29").Open(ctx)
			require.Len(t, l.served, 1)
			require.Empty(t, l.has)
		})
	}
}

// Whatever configures the port may take the address for the laptop away: it is given again.
func TestAnAddressThatWasTakenIsGivenAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := &link{on: "enp1s0", has: map[string]bool{}}
	l.serving = func() {
		if len(l.served) > 1 {
			require.True(t, l.has["enp1s0 192.0.2.1/29"])
			cancel()
			return
		}
		delete(l.has, "enp1s0 192.0.2.1/29")
	}
	newAccess(l, "192.0.2.1/29").Open(ctx)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.Len(t, l.served, 2)
}

// While the node chooses its own address the laptop has none on the port.
func TestTheDeskYieldsWhileTheNodeChoosesItsAddress(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := &link{on: "enp1s0", has: map[string]bool{}}
	var chooses atomic.Int32
	l.serving = func() {
		if len(l.served) > 1 {
			cancel()
			return
		}
		chooses.Store(1)
	}
	access := newAccess(l, "192.0.2.1/29")
	access.Yields = func() bool {
		switch chooses.Load() {
		case 1: // dnsmasq serves
			chooses.Store(2)
		case 2: // it has ended, and asks anew
			require.Empty(t, l.has)
			chooses.Store(0)
		default:
			return false
		}
		return true
	}
	access.Open(ctx)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.Len(t, l.served, 2)
	require.Empty(t, l.has)
}

// The cable may go from the laptop to a site's network between two looks for other servers.
func TestItEndsWhenTheCableIsUnplugged(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	l := &link{on: "enp1s0", has: map[string]bool{}}
	looks := 0
	l.serving = func() {
		l.unplugged = func() {
			if looks++; looks > 1 { // it has ended, and waits for a signal
				cancel()
			}
		}
	}
	access := newAccess(l, "192.0.2.1/29")
	access.Again = time.Hour
	access.Open(ctx)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.Len(t, l.served, 1)
	require.Empty(t, l.has)
}

// The network's own server has the address that the node would take.
func TestAServerAtTheNodesAddressIsAnotherOne(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &link{on: "enp1s0", has: map[string]bool{}, other: netip.MustParseAddr("192.0.2.1"), asked: cancel, serving: cancel}
	newAccess(l, "192.0.2.1/29").Open(ctx)
	require.Empty(t, l.served)
	require.Empty(t, l.has)
}

// The address by which the cluster knows the node stays on the bridge, whoever gave it.
func TestTheNodesOwnAddressStaysOnTheBridge(t *testing.T) {
	for name, d := range map[string]struct{ own, has bool }{"given by the page": {own: true}, "there already": {has: true}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l := &link{on: "br-ex", has: map[string]bool{}, serving: cancel}
			if d.has {
				l.has["br-ex 192.0.2.1/29"] = true
			}
			access := newAccess(l, "192.0.2.1/29")
			access.NodesOwn = d.own
			access.Open(ctx)
			require.Contains(t, l.served[0], "interface=br-ex\n")
			require.True(t, l.has["br-ex 192.0.2.1/29"])
		})
	}
}

func TestTheLaptopsAddress(t *testing.T) {
	for node, want := range map[string]string{"192.0.2.1/30": "192.0.2.2", "192.0.2.2/30": "192.0.2.1", "192.0.2.6/29": "192.0.2.5"} {
		config, err := newAccess(nil, node).Config("enp1s0")
		require.NoError(t, err)
		require.Contains(t, config, "dhcp-range="+want+","+want+",")
	}
	_, err := newAccess(nil, "192.0.2.1/31").Config("enp1s0")
	require.Error(t, err)
}

func TestDnsmasqAcceptsTheConfiguration(t *testing.T) {
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		t.Skip("reason: dnsmasq is not installed; its own check of the rendered file is left out")
	}
	d := newAccess(nil, "192.0.2.1/29")
	d.LeaseFile = filepath.Join(t.TempDir(), "leases")
	config, err := d.Config("enp1s0")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "dnsmasq.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	out, err := exec.CommandContext(t.Context(), program, "--test", "-C", file).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, config)
}
