package nm_test

import (
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// tlv is a part of an announcement of IEEE 802.1AB.
func tlv(kind int, value string) []byte {
	return append([]byte{byte(kind<<1 | len(value)>>8), byte(len(value))}, value...)
}

// announcement is what a switch says of itself.
func announcement() []byte {
	return slices.Concat(
		[]byte{0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0, 0, 0, 0, 0x99, 0x88, 0xcc},
		tlv(1, "\x04\x02\x00\x00\x00\x00\x99"), tlv(2, "\x051/1"), tlv(3, "\x00\x78"),
		tlv(5, "switch1"), tlv(6, "a switch"), tlv(7, "\x00\x14\x00\x04"),
		tlv(8, "\x05\x01\xc6\x33\x64\x01\x02\x00\x00\x03\xe9\x00"),
		tlv(127, "\x00\x80\xc2\x03\x01\xe8\x04blue"), tlv(127, "\x00\x12\x0f\x04\x05\xf2"), tlv(0, ""),
	)
}

// An interface that listens for LLDP shows its neighbor, part by part, and a document with a neighbor in it asks for nothing.
func TestNeighborsAreShown(t *testing.T) {
	n := newNode(t)
	n.cards("eth1")
	n.apply("interfaces: [{name: eth1, type: ethernet, state: up, lldp: {enabled: true}}]")
	n.InPeer(func() {
		link, err := net.InterfaceByName("eth1p")
		require.NoError(t, err)
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		defer unix.Close(fd)
		require.NoError(t, unix.Sendto(fd, announcement(), 0, &unix.SockaddrLinklayer{Ifindex: link.Index}))
	})
	var shown netstate.Document
	n.Until("the neighbor is shown", func() bool {
		var err error
		shown, err = n.network().Observe(timeout(t))
		require.NoError(t, err)
		i, _ := shown.Find("eth1", "")
		return i.LLDP.Neighbors != nil
	})
	text, err := netstate.Document{Interfaces: shown.Interfaces}.Encode()
	require.NoError(t, err)
	for _, part := range []string{"system-name: switch1", "system-description: a switch", "- MAC Bridge component", "- Router",
		"chassis-id: 02:00:00:00:00:99", "_description: MAC address", "port-id: 1/1", "_description: Interface name",
		"address: 198.51.100.1", "interface-number: 1001", "name: blue", "vid: 488", "ieee-802-3-max-frame-size: 1522"} {
		require.Contains(t, string(text), part)
	}
	n.inPlace(string(text))
}
