package hosttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// network is what runs: profiles by interface name. bridged names the interface that is the
// uplink of br-ex; its addresses are then found on br-ex.
type network struct {
	profiles map[string]profile
	bridged  string
}

func (w network) clone() network {
	w.profiles = maps.Clone(w.profiles)
	return w
}

const (
	// switchDB exists where Open vSwitch knows br-ex; the fake keeps the uplink's name in it.
	switchDB = "/etc/openvswitch/conf.db"
	// netTransaction records a network change between its commit and its last profile.
	netTransaction = "/etc/NetworkManager/hosttest-transaction.json"
)

func (n *Node) uplinkName() string {
	if n.options.VLAN != 0 {
		return fmt.Sprintf("%s.%d", n.options.Uplink, n.options.VLAN)
	}
	return n.options.Uplink
}

// firstProfiles are those the installer wrote.
func (n *Node) firstProfiles() map[string]profile {
	o, no := n.options, false
	up := profile{iface: netstate.Interface{
		Name: n.uplinkName(), Type: netstate.TypeEthernet, State: netstate.StateUp,
		IPv4: &netstate.IP{}, IPv6: &netstate.IP{},
	}}
	all := map[string]profile{}
	if o.VLAN != 0 {
		all[o.Uplink] = profile{iface: netstate.Interface{
			Name: o.Uplink, Type: netstate.TypeEthernet, State: netstate.StateUp, IPv4: &netstate.IP{}, IPv6: &netstate.IP{},
		}}
		up.iface.Type, up.iface.VLAN = netstate.TypeVLAN, &netstate.VLAN{ID: o.VLAN, BaseIface: o.Uplink}
	}
	for _, a := range o.Addresses {
		ip := netstate.FamilyOf(a.Addr()).Of(up.iface)
		ip.Enabled, ip.DHCP = true, &no
		ip.Addresses = append(ip.Addresses, netstate.Address{IP: a.Addr().String(), PrefixLength: a.Bits()})
	}
	for _, gw := range o.Gateways {
		up.routes = append(up.routes, netstate.Route{
			Destination: netstate.FamilyOf(gw).Default().String(), NextHopAddress: gw.String(), NextHopInterface: up.iface.Name, Metric: 48,
		})
	}
	for _, s := range o.DNS {
		up.dns = append(up.dns, s.String())
	}
	all[up.iface.Name] = up
	return all
}

// networkUp brings up what the booted deployment's profiles say.
func (n *Node) networkUp() error {
	n.net = network{profiles: n.profilesIn("")}
	if db, err := n.readFile(switchDB); err == nil {
		if uplink := strings.TrimSpace(string(db)); n.net.profiles[uplink].iface.Name != "" {
			n.net.bridged = uplink
		}
	}
	return nil
}

// profilesIn reads the profiles below a root; those that cannot be read do not count.
func (n *Node) profilesIn(root string) map[string]profile {
	found := map[string]profile{}
	dir, err := n.resolve(path.Join(root, host.NMConnections), true)
	if err != nil {
		return found
	}
	for _, name := range n.disk.children(dir) {
		if !strings.HasSuffix(name, keyfileSuffix) {
			continue
		}
		if p, err := readKeyfile(string(n.disk.live[path.Join(dir, name)].data)); err == nil {
			found[p.iface.Name] = p
		}
	}
	return found
}

// bridgeUp is configure-ovs: br-ex over the interface with the default route.
func (n *Node) bridgeUp() error {
	if n.net.bridged != "" {
		return nil
	}
	for _, name := range sorted(n.net.profiles) {
		if n.net.profiles[name].hasDefaultRoute() {
			n.net.bridged = name
			at, err := n.resolve(switchDB, true)
			if err != nil {
				return err
			}
			return n.disk.put(at, text(name+"\n"), true)
		}
	}
	return errors.New("configure br-ex: no interface has a default route")
}

// Network is the node's host.Network.
func (n *Node) Network() host.Network { return networks{n} }

type networks struct{ n *Node }

func (w networks) Observe(context.Context) (netstate.Document, error) {
	w.n.lock()
	defer w.n.mu.Unlock()
	return w.n.net.observe(), nil
}

func (w networks) Apply(ctx context.Context, want netstate.Document, prove func(context.Context) error) error {
	n := w.n
	if err := w.Recover(ctx); err != nil {
		return err
	}
	former, next, err := n.bringUp(want)
	if err != nil {
		return fmt.Errorf("apply network: %w", err)
	}
	if prove != nil {
		if err := prove(ctx); err != nil {
			n.lock()
			defer n.mu.Unlock()
			n.net = former
			return fmt.Errorf("apply network: proof failed, former network is back: %w", err)
		}
	}
	n.lock()
	defer n.mu.Unlock()
	if err := n.keep(next); err != nil {
		return fmt.Errorf("apply network: %w", err)
	}
	return nil
}

// bringUp makes the document run, without a word to the disk.
func (n *Node) bringUp(want netstate.Document) (former, next network, err error) {
	n.lock()
	defer n.mu.Unlock()
	former = n.net.clone()
	next, err = n.net.merge(want)
	if err != nil {
		return former, next, err
	}
	if !reflect.DeepEqual(former, next) {
		n.op("network.apply", "")
		n.net = next.clone()
	}
	return former, next, nil
}

// keep writes the profiles that differ from those on disk: the whole change is recorded
// first, so that Recover can finish it.
func (n *Node) keep(want network) error {
	changes := map[string]*string{} // by path; nil deletes
	have := n.profilesIn("")
	for name, p := range want.profiles {
		if text := p.keyfile(); have[name].iface.Name == "" || have[name].keyfile() != text {
			changes[keyfilePath(name)] = &text
		}
	}
	for name := range have {
		if _, ok := want.profiles[name]; !ok {
			changes[keyfilePath(name)] = nil
		}
	}
	if len(changes) == 0 {
		return nil
	}
	record, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	n.op("network.commit", "")
	if err := n.writeDurable(netTransaction, secret(string(record))); err != nil {
		return err
	}
	return n.save(changes)
}

func (n *Node) writeDurable(p string, in inode) error {
	at, err := n.resolve(p, false)
	if err != nil {
		return err
	}
	return n.disk.put(at, in, true)
}

// save carries out a recorded change, profile by profile.
func (n *Node) save(changes map[string]*string) error {
	for _, p := range sorted(changes) {
		n.op("network.save", p)
		if content := changes[p]; content != nil {
			if err := n.writeDurable(p, secret(*content)); err != nil {
				return err
			}
		} else if at, err := n.resolve(p, false); err == nil {
			n.disk.remove(at, true)
		}
	}
	n.op("network.close", "")
	at, err := n.resolve(netTransaction, false)
	if err == nil {
		n.disk.remove(at, true)
	}
	return err
}

func (w networks) Recover(context.Context) error {
	n := w.n
	n.lock()
	defer n.mu.Unlock()
	record, err := n.readFile(netTransaction)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var changes map[string]*string
	if err := json.Unmarshal(record, &changes); err != nil {
		return fmt.Errorf("recover network transaction: %w", err)
	}
	if err := n.save(changes); err != nil {
		return err
	}
	n.net.profiles = n.profilesIn("")
	return nil
}

// merge is what runs after the document was applied.
func (w network) merge(want netstate.Document) (network, error) {
	next := w.clone()
	for _, i := range want.Interfaces {
		if err := next.set(i); err != nil {
			return next, err
		}
	}
	if want.Routes != nil {
		next.setRoutes(want.Routes.Config)
	}
	if want.DNS != nil && want.DNS.Config != nil {
		next.setDNS(*want.DNS.Config)
	}
	return next, nil
}

// set merges one interface: what the document does not mention stays.
func (w network) set(i netstate.Interface) error {
	if i.Name == host.BridgeExternal && w.bridged != "" {
		if i.Type == netstate.TypeOVSBridge {
			return nil
		}
		i.Name, i.Type, i.VLAN = w.bridged, w.profiles[w.bridged].iface.Type, nil
	} else if i.Name == w.bridged && (len(prefixes(i.IPv4))+len(prefixes(i.IPv6)) > 0) {
		return fmt.Errorf("interface %s is a port of %s and cannot have addresses", i.Name, host.BridgeExternal)
	}
	if i.State == netstate.StateAbsent || i.State == netstate.StateDown {
		delete(w.profiles, i.Name)
		return nil
	}
	p, ok := w.profiles[i.Name]
	if !ok {
		p.iface = netstate.Interface{Name: i.Name, Type: i.Type, IPv4: &netstate.IP{}, IPv6: &netstate.IP{}}
	}
	p.iface.State = netstate.StateUp
	if i.Type != "" {
		p.iface.Type = i.Type
	}
	if i.VLAN != nil {
		vlan := *i.VLAN
		if vlan.BaseIface == "" {
			vlan.BaseIface, _, _ = strings.Cut(i.Name, ".")
		}
		p.iface.VLAN = &vlan
	}
	if i.MTU != 0 {
		p.iface.MTU = i.MTU
	}
	if i.IPv4 != nil {
		p.iface.IPv4 = static(i.IPv4)
	}
	if i.IPv6 != nil {
		p.iface.IPv6 = static(i.IPv6)
	}
	w.profiles[i.Name] = p
	return nil
}

func prefixes(ip *netstate.IP) []netstate.Address {
	if ip == nil || !ip.Enabled {
		return nil
	}
	return ip.Addresses
}

// static copies a family's configuration in the form that keyfiles give back.
func static(ip *netstate.IP) *netstate.IP {
	out := &netstate.IP{Enabled: ip.Enabled}
	if ip.Enabled {
		auto := ip.Auto()
		out.DHCP, out.Addresses = &auto, slices.Clone(ip.Addresses)
	}
	return out
}

func (w network) setRoutes(config []netstate.Route) {
	var have []netstate.Route
	for _, name := range sorted(w.profiles) {
		have = append(have, w.profiles[name].routes...)
	}
	want := slices.Clone(config)
	for i := range want {
		if want[i].NextHopInterface == host.BridgeExternal && w.bridged != "" {
			want[i].NextHopInterface = w.bridged
		}
	}
	merged := netstate.MergeRoutes(have, want)
	for name, p := range w.profiles {
		p.routes = nil
		for _, r := range merged {
			if r.NextHopInterface == name {
				p.routes = append(p.routes, r)
			}
		}
		w.profiles[name] = p
	}
}

// setDNS gives the resolver to the interfaces with a default route.
func (w network) setDNS(r netstate.Resolver) {
	for name, p := range w.profiles {
		p.dns, p.search = nil, nil
		if p.hasDefaultRoute() {
			p.dns, p.search = slices.Clone(r.Server), slices.Clone(r.Search)
		}
		w.profiles[name] = p
	}
}

// observe describes what runs.
func (w network) observe() netstate.Document {
	var d netstate.Document
	routes, resolver := &netstate.Routes{}, &netstate.Resolver{}
	for _, name := range sorted(w.profiles) {
		p := w.profiles[name]
		i, rest := p.iface, p.iface
		i.IPv4, i.IPv6 = static(i.IPv4), static(i.IPv6)
		out := name
		if name == w.bridged {
			out = host.BridgeExternal
			rest.IPv4, rest.IPv6 = &netstate.IP{}, &netstate.IP{}
			d.Interfaces = append(d.Interfaces, rest,
				netstate.Interface{Name: out, Type: netstate.TypeOVSBridge, State: netstate.StateUp,
					Bridge: &netstate.Bridge{Ports: []netstate.BridgePort{{Name: name}, {Name: out}}}},
				netstate.Interface{Name: out, Type: netstate.TypeOVSInterface, State: netstate.StateUp, MTU: i.MTU, IPv4: i.IPv4, IPv6: i.IPv6})
		} else {
			d.Interfaces = append(d.Interfaces, i)
		}
		for _, r := range p.routes {
			r.NextHopInterface = out
			routes.Running, routes.Config = append(routes.Running, r), append(routes.Config, r)
		}
		resolver.Server, resolver.Search = append(resolver.Server, p.dns...), append(resolver.Search, p.search...)
	}
	config := *resolver
	d.Routes, d.DNS = routes, &netstate.DNS{Running: resolver, Config: &config}
	return d
}

// addresses that run, in the order of interfaces.
func (w network) addresses() []netip.Prefix {
	var all []netip.Prefix
	for _, name := range sorted(w.profiles) {
		all = append(all, w.profiles[name].addresses()...)
	}
	return all
}
