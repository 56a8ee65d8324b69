package probe

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// askNeighbour sends neighbour questions for the target until another machine answers, and returns its address, or
// ctx ends. source may be invalid: then the question claims no address, as in the search
// for duplicates. questions bounds how many are sent, 0 for no bound.
func askNeighbour(ctx context.Context, target, source netip.Addr, link *net.Interface, questions int) (net.HardwareAddr, error) {
	q := arpRequest(target, source, link)
	if target.Is6() {
		q = neighbourSolicitation(target, source, link)
	}
	s, err := openPacketSocket(link, q)
	if err != nil {
		return nil, err
	}
	defer s.close()
	own := ownHardware()
	var who net.HardwareAddr
	heard := make(chan error, 1)
	go func() {
		heard <- s.receiveMatching(func(packet []byte) bool {
			hw, ok := q.answer(packet)
			who = slices.Clone(hw)
			return ok && !slices.ContainsFunc(own, func(o net.HardwareAddr) bool { return slices.Equal(o, hw) })
		})
	}()
	if err := askRepeatedly(ctx, questions, func() error { return s.send(q.packet, q.to) }, heard, s.interrupt); err != nil {
		return nil, err
	}
	return who, nil
}

// ownHardware are this machine's addresses on any link: two of its own cards on
// one network must not look like two machines.
func ownHardware() []net.HardwareAddr {
	links, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var out []net.HardwareAddr
	for _, l := range links {
		if len(l.HardwareAddr) > 0 {
			out = append(out, l.HardwareAddr)
		}
	}
	return out
}

// question is a packet to send, where to, and how to recognise the answer.
type question struct {
	protocol uint16 // EtherType
	packet   []byte
	to       net.HardwareAddr
	filter   []bpf.Instruction // of the packets of that protocol; nil lets all of them pass
	answer   func(packet []byte) (net.HardwareAddr, bool)
}

var broadcast = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// arpRequest is an ARP request (RFC 826), a probe (RFC 5227) where source is invalid.
func arpRequest(target, source netip.Addr, link *net.Interface) question {
	const request = 1
	p := []byte{0, 1, 8, 0, 6, 4, 0, request}
	p = append(p, link.HardwareAddr...)
	if source.Is4() {
		p = append(p, source.AsSlice()...)
	} else {
		p = append(p, 0, 0, 0, 0)
	}
	p = append(p, make([]byte, 6)...)
	p = append(p, target.AsSlice()...)
	return question{
		protocol: unix.ETH_P_ARP, packet: p, to: broadcast,
		answer: func(r []byte) (net.HardwareAddr, bool) {
			// Replies and announcements alike: the sender uses the address.
			if len(r) < 28 || r[4] != 6 || r[5] != 4 {
				return nil, false
			}
			from, _ := netip.AddrFromSlice(r[14:18])
			return net.HardwareAddr(r[8:14]), from == target
		},
	}
}

// Numbers of ICMPv6 (RFC 4861 section 4).
const (
	protoICMPv6   = 58
	solicitation  = 135
	advertisement = 136
	sourceOption  = 1
	targetOption  = 2
)

// neighbourSolicitation is a neighbour solicitation, one without source address where source is invalid.
func neighbourSolicitation(target, source netip.Addr, link *net.Interface) question {
	t := target.As16()
	group := netip.AddrFrom16([16]byte{0: 0xff, 1: 0x02, 11: 1, 12: 0xff, 13: t[13], 14: t[14], 15: t[15]})
	body := append([]byte{solicitation, 0, 0, 0, 0, 0, 0, 0}, t[:]...)
	if source.Is6() {
		body = append(body, sourceOption, 1)
		body = append(body, link.HardwareAddr...)
	} else {
		source = netip.IPv6Unspecified()
	}
	binary.BigEndian.PutUint16(body[2:], icmpv6Checksum(source, group, body))
	p := binary.BigEndian.AppendUint32(nil, 6<<28)
	p = binary.BigEndian.AppendUint16(p, uint16(len(body)))
	p = append(p, protoICMPv6, 255)
	p = append(p, source.AsSlice()...)
	p = append(p, group.AsSlice()...)
	return question{
		protocol: unix.ETH_P_IPV6, packet: append(p, body...), to: net.HardwareAddr{0x33, 0x33, 0xff, t[13], t[14], t[15]},
		// The link may be busy: the kernel drops all but advertisements before they queue up.
		filter: []bpf.Instruction{
			bpf.LoadAbsolute{Off: 6, Size: 1}, bpf.JumpIf{Val: protoICMPv6, SkipFalse: 3},
			bpf.LoadAbsolute{Off: 40, Size: 1}, bpf.JumpIf{Val: advertisement, SkipFalse: 1},
			bpf.RetConstant{Val: 4096}, bpf.RetConstant{Val: 0},
		},
		answer: func(r []byte) (net.HardwareAddr, bool) { return parseAdvertisement(r, target) },
	}
}

// parseAdvertisement reads a neighbour advertisement for the target. Without the option that carries it, the
// hardware address is left empty.
func parseAdvertisement(r []byte, target netip.Addr) (net.HardwareAddr, bool) {
	if len(r) < 64 || r[6] != protoICMPv6 || r[7] != 255 || r[40] != advertisement {
		return nil, false
	}
	of, _ := netip.AddrFromSlice(r[48:64])
	if of != target {
		return nil, false
	}
	for opts := r[64:]; len(opts) >= 8; {
		n := int(opts[1]) * 8
		if n == 0 || n > len(opts) {
			break
		}
		if opts[0] == targetOption {
			return net.HardwareAddr(opts[2:8]), true
		}
		opts = opts[n:]
	}
	return nil, true
}

// icmpv6Checksum is the ICMPv6 checksum over pseudo header and body (RFC 4443 section 2.3).
func icmpv6Checksum(from, to netip.Addr, body []byte) uint16 {
	data := append(from.AsSlice(), to.AsSlice()...)
	data = binary.BigEndian.AppendUint32(data, uint32(len(body)))
	data = append(data, 0, 0, 0, protoICMPv6)
	data = append(data, body...)
	if len(data)%2 == 1 {
		data = append(data, 0)
	}
	var sum uint32
	for i := 0; i < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
