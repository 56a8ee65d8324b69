package observe

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// rtprotKernel marks the rules that every kernel has (RTPROT_KERNEL of linux/rtnetlink.h).
const rtprotKernel = 2

// noSuppression is the kernel's "not set" of a suppressed prefix length.
const noSuppression = -1

// Rules lists the route rules that were configured. The library reads no actions of rules, so they are read here.
func Rules() ([]netstate.RouteRule, error) {
	var out []netstate.RouteRule
	for _, f := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		req := nl.NewNetlinkRequest(unix.RTM_GETRULE, unix.NLM_F_DUMP)
		req.AddData(nl.NewIfInfomsg(f))
		all, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWRULE)
		if err != nil {
			return nil, fmt.Errorf("list route rules: %w", err)
		}
		for _, m := range all {
			r, configured, err := parseRule(m, f)
			if err != nil {
				return nil, fmt.Errorf("read a route rule: %w", err)
			}
			if configured {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// parseRule reads a message of the kernel; false for the rules that it has by itself.
func parseRule(message []byte, family int) (netstate.RouteRule, bool, error) {
	m := nl.DeserializeRtMsg(message)
	attrs, err := nl.ParseRouteAttr(message[m.Len():])
	if err != nil {
		return netstate.RouteRule{}, false, fmt.Errorf("parse the attributes of a rule: %w", err)
	}
	out := netstate.RouteRule{Family: "ipv4", RouteTable: int(m.Table), Action: profile.RuleAction(m.Type)}
	if family == netlink.FAMILY_V6 {
		out.Family = "ipv6"
	}
	own := m.Protocol == rtprotKernel
	for _, a := range attrs {
		switch a.Attr.Type {
		case nl.FRA_SRC:
			out.IPFrom = rulePrefix(a.Value, m.Src_len)
		case nl.FRA_DST:
			out.IPTo = rulePrefix(a.Value, m.Dst_len)
		case nl.FRA_IIFNAME:
			out.IIF = unix.ByteSliceToString(a.Value)
		case nl.FRA_PRIORITY:
			out.Priority = int(parseUint32(a.Value))
		case nl.FRA_TABLE:
			out.RouteTable = int(parseUint32(a.Value))
		case nl.FRA_FWMARK:
			out.FwMark = new(netstate.Mark(parseUint32(a.Value)))
		case nl.FRA_FWMASK:
			out.FwMask = new(netstate.Mark(parseUint32(a.Value)))
		case nl.FRA_SUPPRESS_PREFIXLEN:
			if n := int32(parseUint32(a.Value)); n != noSuppression {
				out.SuppressPfx = new(int(n))
			}
		case nl.FRA_PROTOCOL:
			own = len(a.Value) > 0 && a.Value[0] == rtprotKernel
		}
	}
	if out.FwMark == nil || *out.FwMark == 0 {
		out.FwMark, out.FwMask = nil, nil
	}
	return out, !own && (out.RouteTable != unix.RT_TABLE_LOCAL || out.Priority != 0), nil // the kernel's own has priority 0
}

func parseUint32(value []byte) uint32 {
	if len(value) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(value)
}

func rulePrefix(address []byte, bits uint8) *string {
	a, ok := netip.AddrFromSlice(address)
	if !ok {
		return nil
	}
	return new(netip.PrefixFrom(a, int(bits)).String())
}
