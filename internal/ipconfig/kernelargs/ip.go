package kernelargs

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Places of the static form of ip=:
//
//	<client-IP>:[<peer>]:<gateway-IP>:<netmask>:<hostname>:<interface>:<method>[:<dns1>[:<dns2>]]
//	<client-IP>:[<peer>]:<gateway-IP>:<netmask>:<hostname>:<interface>:<method>[:[<mtu>][:<macaddr>]]
//
// An IPv6 address is in brackets. The other forms are ip=<method> and ip=<interface>:<method>[:…].
const (
	placeClient, placePeer, placeGateway, placeNetmask = 0, 1, 2, 3
	placeDNS                                           = 7
)

// moveIP moves the value of an ip=, or says why it cannot be moved. One without a static address stays.
func (c Change) moveIP(value string) (next, why string) {
	fields := splitColons(value)
	client, err := netip.ParseAddr(trimBrackets(fields[placeClient]))
	if err != nil {
		return value, ""
	}
	i := slices.IndexFunc(c.families, func(m move) bool { return m.from == client })
	switch {
	case i < 0 && c.isOnLeftLink(client):
		return "", "it gives another address in the network that the node leaves"
	case i < 0:
		return value, "" // of another interface
	case c.families[i].stands && !c.vlan:
		return c.moveDNS(fields, value), ""
	case c.vlan:
		return "", "the VLAN changes, and with it the interface"
	}
	return c.families[i].rewriteFields(c, fields)
}

// rewriteFields writes the new address into the fields.
func (m move) rewriteFields(c Change, fields []string) (next, why string) {
	at := func(place int) string {
		if place < len(fields) {
			return fields[place]
		}
		return ""
	}
	if at(placePeer) != "" {
		return "", "it names a peer"
	}
	fields[placeClient] = bracketIPv6(m.to.Addr())
	if text := at(placeGateway); text != "" {
		gateway, err := netip.ParseAddr(trimBrackets(text))
		if err != nil || gateway != m.gateway || !m.newGateway.IsValid() {
			return "", fmt.Sprintf("its gateway %s is not that of the node", text)
		}
		fields[placeGateway] = bracketIPv6(m.newGateway)
	}
	if text := at(placeNetmask); text != "" {
		mask, ok := formatNetmask(text, m.to)
		if !ok {
			return "", fmt.Sprintf("its netmask %q is not one", text)
		}
		fields[placeNetmask] = mask
	}
	return c.moveDNS(fields, strings.Join(fields, ":")), ""
}

// moveDNS replaces the DNS servers at the end of the fields that are given up. Where there are fewer new ones the rest is empty.
func (c Change) moveDNS(fields []string, value string) string {
	if len(fields) <= placeDNS {
		return value
	}
	stale := false
	for _, text := range fields[placeDNS:] {
		a, err := netip.ParseAddr(trimBrackets(text))
		stale = stale || err == nil && c.givesUp(a)
	}
	if !stale {
		return value
	}
	for i := range fields[placeDNS:] {
		fields[placeDNS+i] = ""
		if i < len(c.newDNS) {
			fields[placeDNS+i] = bracketIPv6(c.newDNS[i])
		}
	}
	return strings.Join(fields, ":")
}

// formatNetmask writes the length of the network in the way that the text is written: as a number of bits or as a mask.
func formatNetmask(text string, network netip.Prefix) (string, bool) {
	if bits, err := strconv.Atoi(text); err == nil {
		return strconv.Itoa(network.Bits()), bits >= 0 && bits <= network.Addr().BitLen()
	}
	if _, err := netip.ParseAddr(trimBrackets(text)); err != nil || !network.Addr().Is4() {
		return "", false
	}
	mask := ^uint32(0) << (32 - network.Bits())
	return netip.AddrFrom4([4]byte{byte(mask >> 24), byte(mask >> 16), byte(mask >> 8), byte(mask)}).String(), true
}

// splitColons splits at the colons that are not in brackets.
func splitColons(value string) []string {
	var fields []string
	depth, from := 0, 0
	for i, r := range value {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case r == ':' && depth <= 0:
			fields, from = append(fields, value[from:i]), i+1
		}
	}
	return append(fields, value[from:])
}

func trimBrackets(text string) string { return strings.TrimSuffix(strings.TrimPrefix(text, "["), "]") }

func bracketIPv6(a netip.Addr) string {
	if a.Is4() {
		return a.String()
	}
	return "[" + a.String() + "]"
}
