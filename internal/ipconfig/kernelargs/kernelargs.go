// Package kernelargs moves the kernel arguments that carry a node's network to another one: dracut's ip=, nameserver= and
// rd.route= (dracut.cmdline(7)).
//
// Preflight shows with it what becomes of the arguments, pre-pivot gives them to the new boot entry. It is arithmetic: it does no
// I/O, and imports the domain only.
package kernelargs

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// Change is what a change of the network means for kernel arguments.
type Change struct {
	// Owned are the arguments of the node's MachineConfig: one that is not there as it says degrades the node's pool.
	Owned []string

	families []move
	// oldDNS and newDNS are the node's DNS servers before and after.
	oldDNS, newDNS []netip.Addr
	// vlan: the VLAN changes, and with it the interface.
	vlan bool
}

// move is one address family before and after.
type move struct {
	from, gateway  netip.Addr
	link           netip.Prefix // on the link before; zero where it is not known
	to             netip.Prefix
	newGateway     netip.Addr
	leaves, stands bool // the network on the link changes; neither address nor gateway does
}

// Of is the change that a request makes. A request that does not say what the node has now changes no argument.
func Of(r ipconfig.Request) (Change, error) {
	families, err := r.Families()
	if err != nil {
		return Change{}, err
	}
	c := Change{vlan: r.VLANID != r.CurrentVLANID, oldDNS: parseAddresses(r.CurrentDNSServers), newDNS: parseAddresses(r.DNSServers)}
	for _, f := range families {
		address, length := r.CurrentIPv6Address, r.CurrentIPv6PrefixLength
		if f.Address.Is4() {
			address, length = r.CurrentIPv4Address, r.CurrentIPv4PrefixLength
		}
		from, err := netip.ParseAddr(address)
		if err != nil {
			continue
		}
		m := move{from: from, gateway: f.CurrentGateway, to: f.Prefix(), newGateway: f.Gateway, link: f.CurrentNetwork}
		if length > 0 && length <= from.BitLen() {
			m.link = netip.PrefixFrom(from, length).Masked()
		}
		m.leaves = m.link != f.OnLink()
		m.stands = from == f.Address && m.gateway == m.newGateway && !m.leaves
		c.families = append(c.families, m)
	}
	return c, nil
}

func parseAddresses(texts []string) (out []netip.Addr) {
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// Moved is what becomes of kernel arguments.
type Moved struct {
	// Arguments are those of the new boot entry.
	Arguments []string
	// Changed are the arguments that differ, as "old -> new".
	Changed []string
	// Stuck are the arguments that name the network that the node leaves and cannot be moved, each with the reason.
	Stuck []string
}

// Move gives the arguments that a system needs in the new network. What does not name the old one stays as it is.
func (c Change) Move(arguments []string) Moved {
	var out Moved
	servers := c.missingServers(arguments)
	for _, argument := range arguments {
		key, value, _ := strings.Cut(argument, "=")
		after, why := []string{argument}, ""
		switch {
		case value == "":
		case key == "ip":
			var next string
			next, why = c.moveIP(value)
			after = []string{"ip=" + next}
		case key == "nameserver":
			if a, err := netip.ParseAddr(trimBrackets(value)); err == nil && c.givesUp(a) {
				after = servers
			}
		case key == "rd.route":
			why = c.routeStuck(value)
		}
		if out.addArgument(argument, after, why, slices.Contains(c.Owned, argument)) && key == "nameserver" {
			servers = nil
		}
	}
	return out
}

// missingServers are the new DNS servers that no argument names yet. They go into the place of the first that is given up.
func (c Change) missingServers(arguments []string) (out []string) {
	for _, server := range c.newDNS {
		if word := "nameserver=" + server.String(); !slices.Contains(arguments, word) {
			out = append(out, word)
		}
	}
	return out
}

// addArgument takes an argument over as what it becomes, and says whether it changed.
func (m *Moved) addArgument(before string, after []string, why string, owned bool) (changed bool) {
	same := len(after) == 1 && after[0] == before
	if owned && !same && why == "" {
		why = "a MachineConfig owns it"
	}
	switch {
	case why != "":
		m.Arguments, m.Stuck = append(m.Arguments, before), append(m.Stuck, before+" ("+why+")")
		return false
	case same:
		m.Arguments = append(m.Arguments, before)
		return false
	}
	m.Arguments = append(m.Arguments, after...)
	m.Changed = append(m.Changed, before+" -> "+cmp.Or(strings.Join(after, " "), "(removed)"))
	return true
}

// givesUp says that a DNS server is not to be asked any more: the node's own list has dropped it, or it is on the link that the
// node leaves.
func (c Change) givesUp(server netip.Addr) bool {
	if slices.Contains(c.newDNS, server) || len(c.newDNS) == 0 {
		return false
	}
	return slices.Contains(c.oldDNS, server) || c.isOnLeftLink(server)
}

// isOnLeftLink says that the address is on a link that the node leaves.
func (c Change) isOnLeftLink(a netip.Addr) bool {
	return slices.ContainsFunc(c.families, func(m move) bool { return m.leaves && m.link.IsValid() && m.link.Contains(a) })
}

// routeStuck says why a route cannot stay; nothing can be known of another router.
func (c Change) routeStuck(value string) string {
	for _, word := range splitColons(value) {
		if a, err := netip.ParseAddr(trimBrackets(word)); err == nil && c.isOnLeftLink(a) {
			return fmt.Sprintf("its next hop %s is in the network that the node leaves", a)
		}
	}
	return ""
}

// NeedsNetwork says that the system cannot start without a network in the initramfs: its root is on the network or is unlocked over it.
func NeedsNetwork(arguments []string) bool {
	return slices.ContainsFunc(arguments, func(argument string) bool {
		key, value, _ := strings.Cut(argument, "=")
		switch key {
		case "rd.neednet":
			return value != "0" && value != "no"
		case "rd.luks.options":
			options := value[strings.LastIndex(value, "=")+1:]
			return slices.Contains(strings.Split(options, ","), "_netdev")
		}
		return false
	})
}
