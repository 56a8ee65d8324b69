package hostnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/google/uuid"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Keyfile is one NetworkManager profile as a file.
type Keyfile struct {
	Name string // with its suffix, for the folder system-connections
	Text string
}

// namespace makes the profiles' identities: the same host and interface, the same UUID.
var namespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://lifecycle-agent/ipam/profile"))

// Keyfiles are the host as NetworkManager profiles, one per interface. The interface below a VLAN keeps the profile that it
// has: a pool knows nothing of it, and it may be the one that carries the host's primary network.
func (h Host) Keyfiles() ([]Keyfile, error) {
	if err := h.Validate(); err != nil {
		return nil, err
	}
	out := make([]Keyfile, 0, len(h.Interfaces))
	for _, i := range h.Interfaces {
		out = append(out, h.renderKeyfile(i))
	}
	return out, nil
}

func (h Host) renderKeyfile(i Interface) Keyfile {
	id := "lca-" + strings.ReplaceAll(strings.ToLower(i.labelOf()), ":", "-")
	var b strings.Builder
	fmt.Fprintf(&b, "[connection]\nid=%s\nuuid=%s\n", id, uuid.NewSHA1(namespace, []byte(h.Name+"/"+i.labelOf())))
	fmt.Fprintf(&b, "type=%s\nautoconnect=true\nautoconnect-priority=10\n", i.interfaceType())
	if i.Name != "" {
		fmt.Fprintf(&b, "interface-name=%s\n", i.Device())
	}
	b.WriteString(i.linkSection())
	b.WriteString("\n[ipv4]\n" + i.addressSection(netstate.IPv4))
	b.WriteString("\n[ipv6]\n" + i.addressSection(netstate.IPv6))
	return Keyfile{Name: id + ".nmconnection", Text: b.String()}
}

func (i Interface) interfaceType() string {
	if i.VLAN != 0 {
		return "vlan"
	}
	return "ethernet"
}

func (i Interface) linkSection() string {
	var b strings.Builder
	if i.VLAN != 0 {
		fmt.Fprintf(&b, "\n[vlan]\nflags=1\nid=%d\nparent=%s\n", i.VLAN, i.Name)
	}
	if i.MTU == 0 && (i.MAC == "" || i.VLAN != 0) {
		return b.String()
	}
	b.WriteString("\n[ethernet]\n")
	if i.MAC != "" && i.VLAN == 0 {
		fmt.Fprintf(&b, "mac-address=%s\n", strings.ToUpper(i.MAC))
	}
	if i.MTU != 0 {
		fmt.Fprintf(&b, "mtu=%d\n", i.MTU)
	}
	return b.String()
}

// addressSection is the section of one family: static addresses, or none at all. A secondary
// network never becomes the default route, whatever arrives there by itself.
func (i Interface) addressSection(f netstate.Family) string {
	addresses := i.Of(f)
	if len(addresses) == 0 {
		return "method=disabled\n"
	}
	var b strings.Builder
	b.WriteString("method=manual\n")
	for k, a := range addresses {
		fmt.Fprintf(&b, "address%d=%s\n", k+1, a.Prefix)
	}
	if f == netstate.IPv6 {
		b.WriteString("addr-gen-mode=eui64\n")
	}
	if !i.Default {
		b.WriteString("never-default=true\n")
	}
	b.WriteString(serversOf(i.DNS, f))
	n := 0
	for _, r := range i.AllRoutes() {
		if netstate.FamilyOf(r.Via) == f {
			n++
			fmt.Fprintf(&b, "route%d=%s,%s\n", n, r.Destination, r.Via)
		}
	}
	return b.String()
}

func serversOf(dns []netip.Addr, f netstate.Family) string {
	var b strings.Builder
	for _, a := range dns {
		if netstate.FamilyOf(a) == f {
			b.WriteString(a.String() + ";")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "dns=" + b.String() + "\n"
}
