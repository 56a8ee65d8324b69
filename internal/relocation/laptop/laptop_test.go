package laptop_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/laptop"
)

// link is a port on whose network another server may answer.
type link struct {
	other  netip.Addr
	fail   error
	has    map[string]bool
	served []string
	after  func()
}

func (l *link) Carrier(_ context.Context, port string) (string, error) { return port, nil }

func (l *link) Assign(_ context.Context, port string, a netip.Prefix) error {
	l.has[port+" "+a.String()] = true
	return nil
}

func (l *link) Withdraw(_ context.Context, port string, a netip.Prefix) error {
	delete(l.has, port+" "+a.String())
	return nil
}

func (l *link) OtherServer(context.Context, string) (netip.Addr, error) {
	if l.after != nil && l.other.IsValid() || l.fail != nil {
		defer l.after()
	}
	return l.other, l.fail
}

func (l *link) Serve(_ context.Context, config string) error {
	l.served = append(l.served, config)
	l.after()
	return nil
}

func desk(l laptop.Link, address string) laptop.Desk {
	return laptop.Desk{Link: l, Port: "enp1s0", Address: netip.MustParsePrefix(address), Log: slog.New(slog.DiscardHandler)}
}

func TestALaptopGetsTheOneAddressWhileThePageIsOpen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &link{has: map[string]bool{}, after: cancel}
	desk(l, "192.0.2.1/29").Open(ctx)
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
			l.has, l.after = map[string]bool{}, cancel
			desk(l, "192.0.2.1/29").Open(ctx)
			require.Empty(t, l.served)
			require.Empty(t, l.has)
		})
	}
}

func TestTheLaptopsAddress(t *testing.T) {
	for node, want := range map[string]string{"192.0.2.1/30": "192.0.2.2", "192.0.2.2/30": "192.0.2.1", "192.0.2.6/29": "192.0.2.5"} {
		config, err := desk(nil, node).Config("enp1s0")
		require.NoError(t, err)
		require.Contains(t, config, "dhcp-range="+want+","+want+",")
	}
	_, err := desk(nil, "192.0.2.1/31").Config("enp1s0")
	require.Error(t, err)
}

func TestDnsmasqAcceptsTheConfiguration(t *testing.T) {
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		t.Skip("reason: dnsmasq is not installed; its own check of the rendered file is left out")
	}
	d := desk(nil, "192.0.2.1/29")
	d.LeaseFile = filepath.Join(t.TempDir(), "leases")
	config, err := d.Config("enp1s0")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "dnsmasq.conf")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	out, err := exec.CommandContext(t.Context(), program, "--test", "-C", file).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, config)
}
