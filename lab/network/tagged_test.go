package network

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestATaggedSiteIsReachedWithItsTagOnly asks for the addresses of a site by ARP, from the node's end of the cable.
func TestATaggedSiteIsReachedWithItsTagOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("reason: network namespaces need root (sudo -E make test)")
	}
	if _, err := exec.LookPath("dnsmasq"); err != nil {
		t.Skip("reason: dnsmasq is missing on this machine (make host-packages)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n := Network{Name: "tagtest", Dir: t.TempDir()}
	require.NoError(t, n.Up(ctx))
	defer func() { require.NoError(t, n.Down(context.Background())) }()
	require.NoError(t, n.PlugContainer(ctx))
	require.NoError(t, run(ctx, "ip", "-n", n.Node(), "link", "set", Uplink, "up"))
	const second = "second"
	require.NoError(t, run(ctx, "ip", "link", "add", second, "netns", n.Node(), "type", "veth", "peer", "name", cardPrefix+"1", "netns", n.LAN()))
	require.NoError(t, n.lan(ctx, "link set "+cardPrefix+"1 up"))
	require.NoError(t, run(ctx, "ip", "-n", n.Node(), "link", "set", second, "up"))

	tagged, err := n.Tag(ctx, 100, Away())
	require.NoError(t, err)
	home, away := Home().Gateway.Addr(), Away().Gateway.Addr()
	for _, c := range []struct {
		name   string
		tag    uint16
		target netip.Addr
		want   bool
	}{
		{"the tagged site with its tag", 100, away, true},
		{"the tagged site without", 0, away, false},
		{"the tagged site with another tag", 101, away, false},
		{"the untagged site without a tag", 0, home, true},
		{"the untagged site with a tag", 100, home, false},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, answersARP(t, n, Uplink, c.tag, c.target)) })
	}
	require.True(t, answersARP(t, n, second, 100, away), "by the node's second cable")
	require.NoError(t, tagged.Close(ctx))
	require.True(t, answersARP(t, n, Uplink, 0, away), "the site is back in the untagged LAN")
}

// answersARP asks from a card of the node's namespace who has an address, and says whether an answer with the same tag came.
func answersARP(t *testing.T, n Network, card string, tag uint16, target netip.Addr) bool {
	t.Helper()
	fd := -1
	require.NoError(t, inside(n.Node(), func() (err error) {
		fd, err = packetSocket()
		return err
	}))
	defer unix.Close(fd)
	require.NoError(t, unix.Sendto(fd, question(t, tag, target), 0, &unix.SockaddrLinklayer{Ifindex: index(fd, card)}))
	frame, beside := make([]byte, largestFrame), make([]byte, 128)
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100); n <= 0 {
			continue
		}
		got := receive(fd, frame, beside)
		if got.err != nil || got.by != index(fd, card) || got.length < 42 || got.tag != tag || binary.BigEndian.Uint16(frame[12:]) != unix.ETH_P_ARP {
			continue
		}
		if sender, _ := netip.AddrFromSlice(frame[28:32]); frame[21] == 2 && sender == target {
			return true
		}
	}
	return false
}

// question is an ARP request (RFC 826) of the node, by an address that nobody has.
func question(t *testing.T, tag uint16, target netip.Addr) []byte {
	t.Helper()
	mac, err := net.ParseMAC(UplinkMAC)
	require.NoError(t, err)
	me, whom := target.As4(), target.As4()
	me[3] = 99
	frame := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, mac...)
	frame = append(frame, 0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1)
	frame = append(append(frame, mac...), me[:]...)
	frame = append(append(frame, 0, 0, 0, 0, 0, 0), whom[:]...)
	if tag != 0 {
		return insertTag(frame, tag)
	}
	return frame
}
