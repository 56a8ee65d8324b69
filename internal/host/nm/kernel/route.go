package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// routeKey is what the kernel tells routes apart by.
type routeKey struct {
	destination          netip.Prefix
	tos, table, priority int
}

// route is what this program knows of a route's message.
type route struct {
	routeKey
	protocol, kind int
	source         netip.Addr
	keepsWindow    bool // it has a congestion window with its lock
	via            []hop
}

// hop is one of a route's next hops.
type hop struct {
	link    int
	gateway netip.Addr
	weight  int // 0 where it is the only one
}

func (m Message) parseRoute() (route, error) {
	if len(m.Data) < unix.SizeofRtMsg {
		return route{}, errors.New("the message of a route is too short")
	}
	header := nl.DeserializeRtMsg(m.Data)
	attrs, err := parseAttributes(m.Data[unix.SizeofRtMsg:])
	if err != nil {
		return route{}, err
	}
	to, some := netip.AddrFromSlice(attrs.valueOf(unix.RTA_DST))
	switch {
	case header.Family == unix.AF_INET && !some:
		to = netip.IPv4Unspecified()
	case header.Family == unix.AF_INET6 && !some:
		to = netip.IPv6Unspecified()
	case header.Family != unix.AF_INET && header.Family != unix.AF_INET6:
		return route{}, fmt.Errorf("a route of family %d", header.Family)
	}
	out := route{protocol: int(header.Protocol), kind: int(header.Type), routeKey: routeKey{
		destination: netip.PrefixFrom(to, int(header.Dst_len)), tos: int(header.Tos), table: int(header.Table),
		priority: attrs.numberOf(unix.RTA_PRIORITY),
	}}
	if table := attrs.numberOf(unix.RTA_TABLE); table != 0 {
		out.table = table
	}
	out.keepsWindow = keepsWindow(attrs.valueOf(unix.RTA_METRICS))
	out.source, _ = netip.AddrFromSlice(attrs.valueOf(unix.RTA_PREFSRC))
	if link := attrs.numberOf(unix.RTA_OIF); link != 0 {
		gateway, _ := netip.AddrFromSlice(attrs.valueOf(unix.RTA_GATEWAY))
		out.via = []hop{{link: link, gateway: gateway}}
		return out, nil
	}
	err = eachHop(attrs.valueOf(unix.RTA_MULTIPATH), func(next []byte) error {
		more, err := parseAttributes(next[unix.SizeofRtNexthop:])
		gateway, _ := netip.AddrFromSlice(more.valueOf(unix.RTA_GATEWAY))
		out.via = append(out.via, hop{int(binary.NativeEndian.Uint32(next[hopLink:])), gateway, int(next[hopWeight]) + 1})
		return err
	})
	return out, err
}

// Offsets in struct rtnexthop of linux/rtnetlink.h.
const (
	hopFlags  = 2
	hopWeight = 3
	hopLink   = 4
)

// eachHop calls do with each next hop of an attribute RTA_MULTIPATH.
func eachHop(data []byte, do func(next []byte) error) error {
	for len(data) >= unix.SizeofRtNexthop {
		length := int(binary.NativeEndian.Uint16(data))
		if length < unix.SizeofRtNexthop || length > len(data) {
			return errors.New("a next hop of a route is cut off")
		}
		if err := do(data[:length]); err != nil {
			return err
		}
		aligned := (length + unix.RTA_ALIGNTO - 1) &^ (unix.RTA_ALIGNTO - 1)
		data = data[min(aligned, len(data)):]
	}
	return nil
}

// byThemselves are the protocols of routes that come again without anybody's help: from the kernel, from routers and DHCP, and
// from routing daemons, which may have a great many of them.
var byThemselves = []int{
	unix.RTPROT_UNSPEC, unix.RTPROT_REDIRECT, unix.RTPROT_KERNEL, unix.RTPROT_RA, unix.RTPROT_DHCP,
	unix.RTPROT_GATED, unix.RTPROT_MRT, unix.RTPROT_ZEBRA, unix.RTPROT_BIRD, unix.RTPROT_DNROUTED, unix.RTPROT_XORP,
	unix.RTPROT_NTK, unix.RTPROT_MROUTED, unix.RTPROT_BABEL, unix.RTPROT_OPENR,
	unix.RTPROT_BGP, unix.RTPROT_ISIS, unix.RTPROT_OSPF, unix.RTPROT_RIP, unix.RTPROT_EIGRP,
}

// isConfigured says that a person or a program set the route.
func (r route) isConfigured() bool {
	return r.kind == unix.RTN_UNICAST && r.table != unix.RT_TABLE_LOCAL && !slices.Contains(byThemselves, r.protocol)
}

// isStripped says that the kernel took the source from the route, and left the rest: it does so with IPv6 when the address
// goes.
func (r route) isStripped(want route) bool {
	return want.source.Is6() && !r.source.IsValid() && r.routeKey == want.routeKey && r.protocol == want.protocol &&
		slices.Equal(r.via, want.via)
}

// replaces says that the route is the one that is wanted, or does the same for the same owner with another priority. Profiles
// have routes of the same protocol as those that a person sets, and such a one takes no other's place.
func (r route) replaces(want route) bool {
	other := r.protocol == want.protocol && want.protocol != unix.RTPROT_STATIC
	return r.destination == want.destination && r.table == want.table && r.tos == want.tos && (r.priority == want.priority || other)
}

// isConnectedFor says that the kernel made the route for one of the addresses.
func (r route) isConnectedFor(addresses []string) bool {
	if r.protocol != unix.RTPROT_KERNEL || r.kind != unix.RTN_UNICAST || len(r.via) != 1 || r.via[0].gateway.IsValid() {
		return false
	}
	return slices.ContainsFunc(addresses, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && p.Masked() == r.destination && (!r.source.IsValid() || r.source == p.Addr())
	})
}

// hopRoutes are the route in words, one for each next hop.
func (r route) hopRoutes(nameOf func(int) string) []netstate.Route {
	var out []netstate.Route
	for _, h := range r.via {
		w := netstate.Route{
			Destination: r.destination.String(), Metric: r.priority, TableID: r.table, NextHopInterface: nameOf(h.link), Weight: h.weight,
		}
		if h.gateway.IsValid() {
			w.NextHopAddress = h.gateway.Unmap().String()
		}
		if r.source.IsValid() {
			w.Source = r.source.Unmap().String()
		}
		out = append(out, w)
	}
	return out
}

// routeWords describes the route of a message.
func (m Message) routeWords() string {
	r, err := m.parseRoute()
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, h := range r.hopRoutes(m.nameOf) {
		out = append(out, h.String())
	}
	return strings.Join(out, ", ")
}

// nextHopObject is RTA_NH_ID of linux/rtnetlink.h, which the library does not know.
const nextHopObject = 30

// addRoute has the kernel add the route again, as it was; presence is NLM_F_EXCL or NLM_F_REPLACE.
func (m Message) addRoute(presence int) error {
	if _, err := m.parseRoute(); err != nil {
		return err
	}
	attrs, err := parseAttributes(m.Data[unix.SizeofRtMsg:])
	if err != nil {
		return err
	}
	header := *nl.DeserializeRtMsg(slices.Clone(m.Data))
	header.Flags &= unix.RTNH_F_ONLINK // the others are the kernel's own remarks
	attrs = attrs.withoutKinds(unix.RTA_CACHEINFO)
	if attrs.numberOf(nextHopObject) != 0 {
		// The next hop is an object of its own; the kernel shows what it says, and takes only its number.
		attrs, header.Flags = attrs.withoutKinds(unix.RTA_OIF, unix.RTA_GATEWAY, unix.RTA_VIA, unix.RTA_MULTIPATH), 0
	}
	for n, a := range attrs {
		if attrs[n].Value, err = m.renumberLinks(kindOf(a), a.Value); err != nil {
			return err
		}
	}
	return sendMessage(unix.RTM_NEWROUTE, presence, header.Serialize(), attrs)
}

// renumberLinks is an attribute's value with the present numbers of the links.
func (m Message) renumberLinks(kind uint16, value []byte) ([]byte, error) {
	out := slices.Clone(value)
	renumber := func(at []byte) error {
		index, err := m.indexNow(int(binary.NativeEndian.Uint32(at)))
		binary.NativeEndian.PutUint32(at, uint32(index))
		return err
	}
	switch kind {
	case unix.RTA_OIF:
		return out, renumber(out)
	case unix.RTA_MULTIPATH:
		return out, eachHop(out, func(next []byte) error {
			next[hopFlags] &= unix.RTNH_F_ONLINK
			return renumber(next[hopLink:])
		})
	}
	return out, nil
}
