package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

func TestUplinkProfile(t *testing.T) {
	for _, c := range []struct {
		name string
		site cluster.Site
		want string
	}{
		{"IPv4 only", HomeSite(), `
[ipv4]
method=manual
address1=192.0.2.10/24
gateway=192.0.2.1
dns=192.0.2.53;

[ipv6]
method=disabled
`},
		{"both families", DualStackSite(), `
[ipv4]
method=manual
address1=192.0.2.10/24
gateway=192.0.2.1
dns=192.0.2.53;

[ipv6]
method=manual
address1=2001:db8:1::10/64
gateway=2001:db8:1::1
dns=2001:db8:1::53;
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			etc := t.TempDir()
			dir := filepath.Join(etc, "NetworkManager/system-connections")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, writeUplink(etc, c.site, false))
			path := filepath.Join(dir, "uplink0.nmconnection")
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(text), "type=ethernet\ninterface-name=uplink0\n")
			require.Contains(t, string(text), c.want)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode(), "NetworkManager ignores a profile that others may read")
		})
	}
}

func TestABondIsTheUplink(t *testing.T) {
	etc := t.TempDir()
	dir := filepath.Join(etc, "NetworkManager/system-connections")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, writeUplink(etc, HomeSite(), true))
	text := func(name string) string {
		out, err := os.ReadFile(filepath.Join(etc, name))
		require.NoError(t, err)
		return string(out)
	}
	bond := text("NetworkManager/system-connections/bond0.nmconnection")
	require.Contains(t, bond, "type=bond\ninterface-name=bond0\n")
	require.Contains(t, bond, "\n[ipv4]\nmethod=manual\naddress1=192.0.2.10/24\n")
	for _, port := range []string{"uplink0", "uplink1"} {
		require.Contains(t, text("NetworkManager/system-connections/bond0-"+port+".nmconnection"),
			"interface-name="+port+"\ncontroller=bond0\nport-type=bond\n")
	}
	require.NoFileExists(t, filepath.Join(dir, "uplink0.nmconnection"))
	require.Contains(t, text("systemd/network/11-second.link"), "MACAddress=52:54:00:aa:01:01\n\n[Link]\nName=uplink1\n")

	require.Equal(t, 1, Tools{Bond: true}.cards())
	require.Equal(t, 3, Tools{Bond: true, Cards: 3}.cards())
	require.Zero(t, Tools{}.cards())
}

func TestOpen(t *testing.T) {
	tools := Tools{Root: t.TempDir(), Supervise: []string{"lab", "supervise"}}
	_, err := Open(tools, "node")
	require.ErrorIs(t, err, ErrNone)
	for _, name := range []string{"", "Node", "../node", "a b", "1st"} {
		_, err := Open(tools, name)
		require.ErrorContains(t, err, "lab name", name)
	}

	dir := filepath.Join(tools.Root, "node")
	l, err := assemble(tools, "node", dir, record{Kind: machine.Nspawn})
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, l.save())
	again, err := Open(tools, "node")
	require.NoError(t, err)
	require.Equal(t, l, again)
	require.Equal(t, []string{"lab", "supervise", "node"}, again.Machine.(machine.Container).Supervisor)
	names, err := Names(tools)
	require.NoError(t, err)
	require.Equal(t, []string{"node"}, names)

	emulated, err := assemble(tools, "node", dir, record{Kind: machine.QEMU, Cards: 2})
	require.NoError(t, err)
	require.NoError(t, emulated.save())
	again, err = Open(tools, "node")
	require.NoError(t, err)
	require.Equal(t, 2, again.Machine.(machine.Emulated).Cards, "a node keeps its cards over a power cycle")

	_, err = assemble(tools, "node", dir, record{Kind: "mainframe"})
	require.ErrorContains(t, err, `unknown machine kind "mainframe"`)
}

func TestAddresses(t *testing.T) {
	text := "uplink0@if3      UP             192.0.2.10/24 2001:db8:1::10/64 \nbr-ex            UNKNOWN        \nlo UNKNOWN 127.0.0.1/8\n"
	require.Equal(t, []string{"uplink0 192.0.2.10/24", "uplink0 2001:db8:1::10/64", "lo 127.0.0.1/8"}, addresses(text))
	require.Empty(t, addresses(""))
}
