package probe

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

var card = &net.Interface{Name: "eno1", HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1}}

func TestQuestion4(t *testing.T) {
	target := netip.MustParseAddr("192.0.2.77")
	q := arpRequest(target, netip.Addr{}, card)
	require.Equal(t, []byte{0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 77}, q.packet, "RFC 5227 probe")
	reply := []byte{0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 9, 192, 0, 2, 77, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0}
	hw, ok := q.answer(reply)
	require.True(t, ok)
	require.Equal(t, "02:00:00:00:00:09", hw.String())
	reply[17] = 78
	_, ok = q.answer(reply)
	require.False(t, ok, "from another address")
	_, ok = q.answer(reply[:27])
	require.False(t, ok, "cut short")
}

func TestQuestion6(t *testing.T) {
	target := netip.MustParseAddr("2001:db8::12:3456")
	q := neighbourSolicitation(target, netip.MustParseAddr("fe80::1"), card)
	require.Equal(t, "33:33:ff:12:34:56", q.to.String())
	from, _ := netip.AddrFromSlice(q.packet[8:24])
	group, _ := netip.AddrFromSlice(q.packet[24:40])
	require.Equal(t, "ff02::1:ff12:3456", group.String())
	require.Zero(t, icmpv6Checksum(from, group, q.packet[40:]), "a packet with its checksum sums to nothing")
	require.Equal(t, byte(255), q.packet[7], "RFC 4861 section 7.1.1")
	require.Len(t, neighbourSolicitation(target, netip.Addr{}, card).packet, 40+24, "no option without source address")
}

func TestAdvertised(t *testing.T) {
	target := netip.MustParseAddr("2001:db8::77")
	packet := make([]byte, 40, 80)
	packet[6], packet[7] = protoICMPv6, 255
	body := append([]byte{advertisement, 0, 0, 0, 0x20, 0, 0, 0}, target.AsSlice()...)
	packet = append(packet, body...)
	hw, ok := parseAdvertisement(packet, target)
	require.True(t, ok)
	require.Empty(t, hw)
	hw, ok = parseAdvertisement(append(packet, targetOption, 1, 2, 0, 0, 0, 0, 9), target)
	require.True(t, ok)
	require.Equal(t, "02:00:00:00:00:09", hw.String())
	_, ok = parseAdvertisement(append(packet, targetOption, 0, 2, 0, 0, 0, 0, 9), target)
	require.True(t, ok, "an option without length ends the search, not the program")
	_, ok = parseAdvertisement(packet, netip.MustParseAddr("2001:db8::78"))
	require.False(t, ok)
	packet[7] = 64
	_, ok = parseAdvertisement(packet, target)
	require.False(t, ok, "it came through a router, so not from the link")
}

func FuzzAnswers(f *testing.F) {
	f.Add(make([]byte, 28))
	f.Add(make([]byte, 80))
	f.Fuzz(func(_ *testing.T, packet []byte) {
		arpRequest(netip.MustParseAddr("192.0.2.1"), netip.Addr{}, card).answer(packet)
		neighbourSolicitation(netip.MustParseAddr("2001:db8::1"), netip.Addr{}, card).answer(packet)
	})
}

func TestServed(t *testing.T) {
	root := dnsmessage.MustNewName(".")
	answer := []byte{0x12, 0x34, 0x80, 3, 0, 0, 0, 0, 0, 0, 0, 0}
	require.NoError(t, checkAnswer(answer, 0x1234, root), "that a name does not exist is an answer")
	require.ErrorContains(t, checkAnswer(answer, 0x1235, root), "no answer to the question")
	require.Error(t, checkAnswer(answer[:11], 0x1234, root))
	for code, says := range map[byte]string{2: "ServerFailure", 5: "Refused"} {
		answer[3] = code
		require.ErrorContains(t, checkAnswer(answer, 0x1234, root), `the answer for "." is `+says)
	}
	answer[2] = 0
	require.ErrorContains(t, checkAnswer(answer, 0x1234, root), "no answer to the question")
}
