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
	// wide is what no profile holds: names of the node and its row of the Open vSwitch database, as far as documents said.
	wide netstate.Document
}

func (w network) clone() network {
	w.profiles = maps.Clone(w.profiles)
	return w
}

func (w network) equal(o network) bool {
	return w.bridged == o.bridged && reflect.DeepEqual(w.wide, o.wide) && maps.EqualFunc(w.profiles, o.profiles,
		func(a, b profile) bool { return a.keyfile() == b.keyfile() })
}

const (
	// switchDB exists where Open vSwitch knows br-ex; the fake keeps the uplink's name in it.
	switchDB = "/etc/openvswitch/conf.db"
	// netTransaction records a network change between its commit and its last profile.
	netTransaction = "/etc/NetworkManager/hosttest-transaction.json"
	// netWide keeps what no profile holds.
	netWide = "/etc/NetworkManager/hosttest-node.json"
)

// nodeWide is what the disk has of it.
func (n *Node) nodeWide() (d netstate.Document) {
	if text, err := n.readFile(netWide); err == nil {
		_ = json.Unmarshal(text, &d) // the fake wrote it
	}
	return d
}

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
		IPv4: netstate.Disabled(), IPv6: netstate.Disabled(),
	}}
	all := map[string]profile{}
	if o.VLAN != 0 {
		all[o.Uplink] = profile{iface: netstate.Interface{
			Name: o.Uplink, Type: netstate.TypeEthernet, State: netstate.StateUp, IPv4: netstate.Disabled(), IPv6: netstate.Disabled(),
		}}
		up.iface.Type, up.iface.VLAN = netstate.TypeVLAN, &netstate.VLAN{ID: o.VLAN, BaseIface: o.Uplink}
	}
	for _, a := range o.Addresses {
		ip := netstate.FamilyOf(a.Addr()).Of(up.iface)
		ip.Enabled, ip.DHCP = new(true), &no
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
	n.net = network{profiles: n.profilesIn(""), wide: n.nodeWide()}
	defer n.networkChanged()
	if db, err := n.readFile(switchDB); err == nil {
		if uplink := strings.TrimSpace(string(db)); n.net.profiles[uplink].iface.Name != "" {
			n.net.bridged = uplink
		}
	}
	return nil
}

// RestartNetwork ends NetworkManager and starts it again: what it has in memory only, a change under way included, is lost, and the
// profiles on disk come up.
func (n *Node) RestartNetwork() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pendingNet != nil {
		n.pendingNet.expiry.Stop()
	}
	n.openNet, n.pendingNet = nil, nil
	return n.networkUp()
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

func (w networks) Apply(
	ctx context.Context, want netstate.Document, prove func(context.Context) error, options ...host.NetworkOption,
) error {
	if _, pending, err := w.Pending(ctx); err != nil || pending {
		return errors.Join(err, fmt.Errorf("apply network: %w", host.ErrNetworkPending))
	}
	if err := w.Recover(ctx); err != nil {
		return err
	}
	if err := w.n.apply(ctx, want, prove, slices.Contains(options, host.NetworkEphemeral)); err != nil {
		return fmt.Errorf("apply network: %w", err)
	}
	return nil
}

func (n *Node) apply(ctx context.Context, want netstate.Document, prove func(context.Context) error, ephemeral bool) error {
	next, err := n.bringUp(want)
	if err == nil && prove != nil {
		err = prove(ctx)
	}
	n.lock()
	defer n.mu.Unlock()
	switch {
	case err == nil && ephemeral:
		n.openNet = nil
	case err == nil:
		err = n.keep(*n.openNet, next, want)
	}
	if n.openNet != nil {
		n.net, n.openNet = *n.openNet, nil // not committed: the former network comes back
		n.networkChanged()
	}
	return err
}

// bringUp makes the document run, without a word to the disk.
func (n *Node) bringUp(want netstate.Document) (network, error) {
	n.lock()
	defer n.mu.Unlock()
	former := n.net.clone()
	next, err := n.net.merge(want)
	if err != nil {
		return next, err
	}
	if !former.equal(next) {
		if err := n.op("network.apply", ""); err != nil {
			return next, err
		}
		n.net = next.clone()
		n.networkChanged()
	}
	n.openNet = &former
	return next, n.collision(want)
}

// collision is what NetworkManager finds by itself, and does not explain: another machine has an address.
func (n *Node) collision(want netstate.Document) error {
	for _, i := range want.Interfaces {
		for _, ip := range []*netstate.IP{i.IPv4, i.IPv6} {
			if ip == nil {
				continue
			}
			for _, a := range ip.Addresses {
				if at, err := netip.ParseAddr(a.IP); err == nil && n.occupied[at] {
					return fmt.Errorf("activate %s: no reason given", i.Name)
				}
			}
		}
	}
	return nil
}

// keep writes the profiles that the change concerns and that differ from those on disk: the whole change is recorded
// first, so that Recover can finish it.
func (n *Node) keep(former, next network, want netstate.Document) error {
	changes := map[string]*string{} // by path; nil deletes
	have := n.profilesIn("")
	for name, p := range next.profiles {
		text := p.keyfile()
		if next.concerned(name, former, want) && (have[name].iface.Name == "" || have[name].keyfile() != text) {
			changes[keyfilePath(name)] = &text
		}
	}
	for name := range have {
		if _, ok := next.profiles[name]; !ok && next.concerned(name, former, want) {
			changes[keyfilePath(name)] = nil
		}
	}
	if !reflect.DeepEqual(n.nodeWide(), next.wide) {
		text, err := json.Marshal(next.wide)
		if err != nil {
			return err
		}
		changes[netWide] = new(string(text))
	}
	if len(changes) == 0 {
		n.openNet = nil
		return nil
	}
	record, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	if err := n.op("network.commit", ""); err != nil {
		return err
	}
	if err := n.writeDurable(netTransaction, secret(string(record))); err != nil {
		return err
	}
	n.openNet = nil
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
		if err := n.op("network.save", p); err != nil {
			return err
		}
		if content := changes[p]; content != nil {
			if err := n.writeDurable(p, secret(*content)); err != nil {
				return err
			}
		} else if at, err := n.resolve(p, false); err == nil {
			n.disk.remove(at, true)
		}
	}
	if err := n.op("network.close", ""); err != nil {
		return err
	}
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
	if n.pendingNet != nil {
		return nil
	}
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
	n.net.profiles, n.net.wide = n.profilesIn(""), n.nodeWide()
	n.networkChanged()
	return nil
}
