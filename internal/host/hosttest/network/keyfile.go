package network

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/systemd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// profile is what NetworkManager keeps of one interface. DNS is kept with the interface that
// has a default route, as nmstate does.
type profile struct {
	iface  netstate.Interface
	routes []netstate.Route
	dns    []string
	search []string
	// options are those of resolv.conf(5).
	options []string
}

const keyfileSuffix = ".nmconnection"

func keyfilePath(name string) string { return path.Join(host.NMConnections, name+keyfileSuffix) }

// keyfile renders the profile in NetworkManager's keyfile format (nm-settings-keyfile(5)), the
// order of name servers across families in a [user] key of its own.
func (p profile) keyfile() string {
	var b strings.Builder
	i := p.iface
	fmt.Fprintf(&b, "[connection]\nid=%s\ntype=%s\ninterface-name=%s\n", i.Name, i.Type, i.Name)
	if i.VLAN != nil {
		fmt.Fprintf(&b, "\n[vlan]\nid=%d\nparent=%s\n", i.VLAN.ID, i.VLAN.BaseIface)
	}
	if i.MTU != 0 {
		fmt.Fprintf(&b, "\n[ethernet]\nmtu=%d\n", i.MTU)
	}
	p.family(&b, "ipv4", i.IPv4, netstate.IPv4)
	p.family(&b, "ipv6", i.IPv6, netstate.IPv6)
	if len(p.dns)+len(p.search)+len(p.options) > 0 {
		fmt.Fprintf(&b, "\n[user]\nhosttest.dns=%s\nhosttest.search=%s\n", strings.Join(p.dns, ";"), strings.Join(p.search, ";"))
	}
	if len(p.options) > 0 {
		fmt.Fprintf(&b, "hosttest.options=%s\n", strings.Join(p.options, ";"))
	}
	return b.String()
}

func (p profile) family(b *strings.Builder, section string, ip *netstate.IP, f netstate.Family) {
	fmt.Fprintf(b, "\n[%s]\nmethod=%s\n", section, method(ip))
	if ip == nil {
		return
	}
	for n, a := range ip.Addresses {
		fmt.Fprintf(b, "address%d=%s/%d\n", n+1, a.IP, a.PrefixLength)
	}
	n := 0
	for _, r := range p.routes {
		if rf, ok := r.Family(); !ok || rf != f {
			continue
		}
		n++
		fmt.Fprintf(b, "route%d=%s,%s,%d\n", n, r.Destination, r.NextHopAddress, r.Metric)
		if r.TableID != 0 {
			fmt.Fprintf(b, "route%d_options=table=%d\n", n, r.TableID)
		}
		if r.Source != "" || r.CWND != 0 || r.Weight != 0 || r.RouteType != "" {
			fmt.Fprintf(b, "route%d_properties=%s,%d,%d,%s\n", n, r.Source, r.CWND, r.Weight, r.RouteType)
		}
	}
	for _, s := range p.dns {
		if a, err := netip.ParseAddr(s); err == nil && netstate.FamilyOf(a) == f {
			fmt.Fprintf(b, "dns=%s;\n", s)
		}
	}
}

func method(ip *netstate.IP) string {
	switch {
	case !ip.On():
		return "disabled"
	case ip.Auto():
		return "auto"
	}
	return "manual"
}

// readKeyfile is keyfile backwards.
func readKeyfile(text string) (profile, error) {
	keys := systemd.ParseSections(text) // the two formats share their syntax
	get := func(k string) string { return strings.Join(keys[k], "") }
	p := profile{iface: netstate.Interface{
		Name: get("connection.interface-name"), Type: get("connection.type"), State: netstate.StateUp,
	}}
	if p.iface.Name == "" {
		return p, fmt.Errorf("keyfile names no interface")
	}
	if id, err := strconv.Atoi(get("vlan.id")); err == nil {
		p.iface.VLAN = &netstate.VLAN{ID: id, BaseIface: get("vlan.parent")}
	}
	p.iface.MTU, _ = strconv.Atoi(get("ethernet.mtu"))
	p.iface.IPv4, p.iface.IPv6 = readIP(keys, "ipv4"), readIP(keys, "ipv6")
	for _, section := range []string{"ipv4", "ipv6"} {
		p.routes = append(p.routes, readRoutes(keys, section, p.iface.Name)...)
	}
	p.dns, p.search = list(get("user.hosttest.dns")), list(get("user.hosttest.search"))
	p.options = list(get("user.hosttest.options"))
	return p, nil
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ';' })
}

func readIP(keys map[string][]string, section string) *netstate.IP {
	how := strings.Join(keys[section+".method"], "")
	ip := &netstate.IP{Enabled: new(how == "manual" || how == "auto")}
	if ip.On() {
		auto := how == "auto"
		ip.DHCP = &auto
	}
	for n := 1; len(keys[fmt.Sprintf("%s.address%d", section, n)]) > 0; n++ {
		prefix, err := netip.ParsePrefix(keys[fmt.Sprintf("%s.address%d", section, n)][0])
		if err == nil {
			ip.Addresses = append(ip.Addresses, netstate.FromPrefix(prefix))
		}
	}
	return ip
}

func readRoutes(keys map[string][]string, section, iface string) []netstate.Route {
	var routes []netstate.Route
	for n := 1; len(keys[fmt.Sprintf("%s.route%d", section, n)]) > 0; n++ {
		fields := append(strings.Split(keys[fmt.Sprintf("%s.route%d", section, n)][0], ","), "", "")
		r := netstate.Route{Destination: fields[0], NextHopAddress: fields[1], NextHopInterface: iface}
		r.Metric, _ = strconv.Atoi(fields[2])
		options := strings.Join(keys[fmt.Sprintf("%s.route%d_options", section, n)], "")
		r.TableID, _ = strconv.Atoi(strings.TrimPrefix(options, "table="))
		more := append(strings.Split(strings.Join(keys[fmt.Sprintf("%s.route%d_properties", section, n)], ""), ","), "", "", "")
		r.Source = more[0]
		if r.RouteType = more[3]; r.RouteType != "" {
			r.NextHopInterface = ""
		}
		r.CWND, _ = strconv.Atoi(more[1])
		r.Weight, _ = strconv.Atoi(more[2])
		routes = append(routes, r)
	}
	return routes
}

// addresses of the profile, both families.
func (p profile) addresses() []netip.Prefix {
	var all []netip.Prefix
	for _, ip := range []*netstate.IP{p.iface.IPv4, p.iface.IPv6} {
		if !ip.On() {
			continue
		}
		for _, a := range ip.Addresses {
			if prefix, err := a.Prefix(); err == nil {
				all = append(all, withHostBits(a, prefix))
			}
		}
	}
	return all
}

// withHostBits keeps the address where the prefix may have been masked.
func withHostBits(a netstate.Address, p netip.Prefix) netip.Prefix {
	if ip, err := netip.ParseAddr(a.IP); err == nil {
		return netip.PrefixFrom(ip, p.Bits())
	}
	return p
}

// vlan is the interface's tag, 0 for none.
func (p profile) vlan() int {
	if p.iface.VLAN == nil {
		return 0
	}
	return p.iface.VLAN.ID
}

func (p profile) hasDefaultRoute() bool {
	return slices.ContainsFunc(p.routes, func(r netstate.Route) bool {
		return r.Destination == "0.0.0.0/0" || r.Destination == "::/0"
	})
}
