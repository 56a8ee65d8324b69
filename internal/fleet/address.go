package fleet

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// family says how the columns of one address family are checked. The rules are those of the definition of IPConfig, so that
// a row that passes is not refused by the cluster.
type family struct {
	name                      string
	is                        func(netip.Addr) bool
	address, network, gateway string
	example                   string
	// allHosts: from this prefix length on, the first address of a network is a host's like any other.
	allHosts int
}

func familyIPv4() family {
	return family{"IPv4", netip.Addr.Is4, columnIPv4Address, columnIPv4Network, columnIPv4Gateway, "192.0.2.10", 31}
}

func familyIPv6() family {
	return family{"IPv6", func(a netip.Addr) bool { return a.Is6() && !a.Is4In6() && a.Zone() == "" },
		columnIPv6Address, columnIPv6Network, columnIPv6Gateway, "2001:db8::10", 127}
}

// endpoint is one family's part of an IPConfig, in canonical spelling.
type endpoint struct{ Address, MachineNetwork, Gateway string }

// endpointOf reads the columns of a family; nil where the row leaves them all empty.
func (f family) endpointOf(row Row) (*endpoint, Problems) {
	if row.Values[f.address] == "" {
		var problems Problems
		for _, c := range []string{f.network, f.gateway} {
			if row.Values[c] != "" {
				problems = append(problems, row.newProblem(c, "it needs a value in "+f.address+", too; fill it or empty this one"))
			}
		}
		return nil, problems
	}
	out := &endpoint{}
	address, problems := f.parseHost(row, f.address, false)
	out.Address = address.String()
	network, more := f.networkOf(row)
	problems = append(problems, more...)
	if network.IsValid() {
		out.MachineNetwork = network.String()
	}
	gateway := netip.Addr{}
	if row.Values[f.gateway] != "" {
		gateway, more = f.parseHost(row, f.gateway, true)
		problems = append(problems, more...)
		out.Gateway = gateway.String()
	}
	return out, append(problems, f.checkTogether(row, address, gateway, network)...)
}

// parseHost reads a column with an address that a host can have. A router's IPv6 address may be link-local.
func (f family) parseHost(row Row, column string, router bool) (netip.Addr, Problems) {
	a, err := netip.ParseAddr(row.Values[column])
	usable := err == nil && f.is(a) && (a.IsGlobalUnicast() || router && a.Is6() && a.IsLinkLocalUnicast())
	if usable && a.Is4() {
		usable = router || a.As4()[0] != 0 && a.As4()[0] < 240
	}
	if !usable {
		return netip.Addr{}, Problems{row.newProblem(column,
			fmt.Sprintf("it must be a unicast %s address without prefix length, for example %s", f.name, f.example))}
	}
	return a, nil
}

func (f family) networkOf(row Row) (netip.Prefix, Problems) {
	text := row.Values[f.network]
	if text == "" {
		return netip.Prefix{}, nil
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || !f.is(p.Addr()):
		return netip.Prefix{}, Problems{row.newProblem(f.network, fmt.Sprintf("it must be an %s network, for example %s",
			f.name, f.samplePrefix().String()))}
	case p != p.Masked():
		return netip.Prefix{}, Problems{row.newProblem(f.network, "host bits are set; the network is "+p.Masked().String())}
	}
	return p, nil
}

func (f family) samplePrefix() netip.Prefix {
	p, _ := netip.MustParseAddr(f.example).Prefix(map[string]int{"IPv4": 24, "IPv6": 64}[f.name]) // the lengths fit
	return p
}

// checkTogether checks what no column can be blamed for alone. Values that were refused before are not valid and are skipped.
func (f family) checkTogether(row Row, address, gateway netip.Addr, network netip.Prefix) (problems Problems) {
	if address.IsValid() && network.IsValid() {
		switch {
		case !network.Contains(address):
			problems = append(problems, row.newProblem(f.address, "it must be inside "+f.network+", "+network.String()))
		case address == network.Addr() && network.Bits() < f.allHosts:
			problems = append(problems, row.newProblem(f.address,
				"it is the first address of "+f.network+", which no host may have; choose another"))
		}
	}
	if !gateway.IsValid() {
		return problems
	}
	if gateway == address {
		problems = append(problems, row.newProblem(f.gateway, "it is the node's own address; enter that of the router"))
	} else if network.IsValid() && !network.Contains(gateway) && !gateway.IsLinkLocalUnicast() {
		problems = append(problems, row.newProblem(f.gateway, "it must be inside "+f.network+", "+network.String()))
	}
	return problems
}

// maxDNSServers is the limit of IPConfig.
const maxDNSServers = 8

func dnsServers(row Row) (out []string, problems Problems) {
	seen := map[netip.Addr]bool{}
	for _, text := range strings.Fields(row.Values[columnDNSServers]) {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil || !a.IsGlobalUnicast() || a.Zone() != "" || a.Is4In6():
			problems = append(problems, Problem{row.Number, columnDNSServers, text,
				"it must be a unicast address; separate two with a space"})
		case seen[a]:
			problems = append(problems, Problem{row.Number, columnDNSServers, text, "it appears twice; remove one"})
		default:
			out = append(out, a.String())
		}
		seen[a] = true
	}
	if len(out) > maxDNSServers {
		problems = append(problems, row.newProblem(columnDNSServers,
			fmt.Sprintf("there are %d; an IPConfig takes %d", len(out), maxDNSServers)))
	}
	return out, problems
}

// ipConfig is the IPConfig that a row asks for; nil where it fills none of its columns.
func ipConfig(row Row) (*lcav1.IPConfigSpec, Problems) {
	if !slices.ContainsFunc(addressColumns(), func(c string) bool { return row.Values[c] != "" }) {
		return nil, nil
	}
	spec := &lcav1.IPConfigSpec{Stage: lcav1.StageConfig}
	four, problems := familyIPv4().endpointOf(row)
	if four != nil {
		spec.IPv4 = &lcav1.IPv4Config{Address: four.Address, MachineNetwork: four.MachineNetwork, Gateway: four.Gateway}
	}
	six, more := familyIPv6().endpointOf(row)
	problems = append(problems, more...)
	if six != nil {
		spec.IPv6 = &lcav1.IPv6Config{Address: six.Address, MachineNetwork: six.MachineNetwork, Gateway: six.Gateway}
	}
	spec.DNSServers, more = dnsServers(row)
	problems = append(problems, more...)
	if text := row.Values[columnVLANID]; text != "" {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil || id < 0 || id > 4094 {
			problems = append(problems, row.newProblem(columnVLANID, "it must be a number from 1 to 4094, or 0 for no VLAN"))
		}
		spec.VLANID = new(int32(id))
	}
	return spec, problems
}
