package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Shown is what the kernel gives by itself and no document configures, for those who look at the node: by the name of the link.
type Shown struct {
	// LinkLocal are the link-local IPv6 addresses, those that are looked for on the network still among them.
	LinkLocal map[string][]netip.Prefix
	// Lifetimes are those of addresses that end unless they are renewed.
	Lifetimes map[string]map[netip.Prefix]Lifetime
	// MTU are the limits of a link; 0 is none.
	MTU map[string]MTULimits
}

// Lifetime is the time that an address has left.
type Lifetime struct{ Valid, Preferred uint32 }

// MTULimits are the least and the greatest MTU that a link can have.
type MTULimits struct{ Min, Max uint32 }

// ReadShown asks the kernel for it.
func ReadShown() (*Shown, error) {
	s := &Shown{LinkLocal: map[string][]netip.Prefix{}, Lifetimes: map[string]map[netip.Prefix]Lifetime{}, MTU: map[string]MTULimits{}}
	names, err := s.readLinks()
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	all, err := List(func() ([]netlink.Addr, error) { return netlink.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	for _, a := range all {
		s.noteAddress(names[a.LinkIndex], a)
	}
	return s, nil
}

func (s *Shown) noteAddress(name string, a netlink.Addr) {
	p, ok := prefixOf(a)
	if !ok || name == "" {
		return
	}
	if netstate.FamilyOf(p.Addr()) == netstate.IPv6 && p.Addr().IsLinkLocalUnicast() {
		s.LinkLocal[name] = append(s.LinkLocal[name], p)
		return
	}
	if isUsable(a.Flags) && a.Flags&unix.IFA_F_PERMANENT == 0 {
		if s.Lifetimes[name] == nil {
			s.Lifetimes[name] = map[netip.Prefix]Lifetime{}
		}
		s.Lifetimes[name][p] = Lifetime{uint32(a.ValidLft), uint32(a.PreferedLft)}
	}
}

// readLinks notes the limits of each link and returns the names.
func (s *Shown) readLinks() (map[int]string, error) {
	all, err := List(func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
		req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
		return req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	})
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, m := range all {
		header := nl.DeserializeIfInfomsg(m)
		attrs, err := parseAttributes(m[header.Len():])
		if err != nil {
			return nil, err
		}
		name := textOf(attrs.valueOf(unix.IFLA_IFNAME))
		names[int(header.Index)] = name
		s.MTU[name] = MTULimits{numberOf(attrs, unix.IFLA_MIN_MTU), numberOf(attrs, unix.IFLA_MAX_MTU)}
	}
	return names, nil
}

func numberOf(attrs attributeList, kind uint16) uint32 {
	if v := attrs.valueOf(kind); len(v) == 4 {
		return binary.NativeEndian.Uint32(v)
	}
	return 0
}

// textOf is a text that the kernel ends with a zero.
func textOf(v []byte) string {
	if n := len(v); n > 0 && v[n-1] == 0 {
		v = v[:n-1]
	}
	return string(v)
}
