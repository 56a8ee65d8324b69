// Package network is the network of a fake node and around it: what runs on its links, the profiles that NetworkManager keeps,
// and which machines answer.
//
// It is called by hosttest, which joins the rooms. Tests only: it imports the ports, netstate, hosttest/machine and the
// parser of hosttest/systemd, and must not import another room.
package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Options shape the network that the installer left.
type Options struct {
	// Addresses of the node with their networks, the primary one first.
	Addresses []netip.Prefix
	// Gateways, at most one for each family.
	Gateways []netip.Addr
	DNS      []netip.Addr
	// Uplink is the physical interface below br-ex; VLAN its tag, 0 for none.
	Uplink string
	VLAN   int
}

// Links are the node's links, and what is on them.
type Links struct {
	*machine.Machine
	options Options
	// localDNS says whether the node's own DNS server listens at the address.
	localDNS func(netip.Addr) bool

	net      network
	open     *network // what a transaction under way goes back to
	pending  *pendingNetwork
	watchers map[chan struct{}]struct{}

	silent, refusing, occupied map[netip.Addr]bool
	known                      map[netip.Addr][]string // what a name server is limited to
	segments                   map[netip.Addr]int      // VLAN on which a machine is
	proxied                    []netip.Prefix
	served                     map[string]error // what answers, by target
	away                       bool             // NetworkManager does not run
	trials                     []host.NetworkTrial
	lacking                    []string // types of links that the kernel cannot make
}

// Lack takes the ability to make links of a type from the kernel, as one without the module has it.
func (n *Links) Lack(types ...string) { n.lacking = types }

// checkKernel refuses what the kernel cannot make.
func (n *Links) checkKernel(want netstate.Document) error {
	for _, i := range want.Interfaces {
		if i.State != netstate.StateAbsent && slices.Contains(n.lacking, i.Type) {
			return fmt.Errorf("interface %s: this kernel has no links of type %s", i.Name, i.Type)
		}
	}
	return nil
}

// Hold has another program hold a checkpoint of the network, which ends when it is settled.
func (n *Links) Hold(t host.NetworkTrial) { n.trials = append(n.trials, t) }

// StopManager ends NetworkManager, StartManager runs it again; the links stay as they are.
func (n *Links) StopManager() { n.away = true }

// StartManager undoes StopManager.
func (n *Links) StartManager() { n.away = false }

func (n *Links) requireManager() error {
	if n.away {
		return fmt.Errorf("NetworkManager is not running: %w", host.ErrNetworkUnavailable)
	}
	return nil
}

// NetworkTrials is the node's host.NetworkTrials.
func (n *Links) NetworkTrials() host.NetworkTrials { return networks{n} }

func (w networks) Trials(context.Context) ([]host.NetworkTrial, error) {
	w.n.Enter()
	defer w.n.Unlock()
	return slices.Clone(w.n.trials), w.n.requireManager()
}

func (w networks) EndTrial(_ context.Context, id string, _ bool) error {
	w.n.Enter()
	defer w.n.Unlock()
	left := slices.DeleteFunc(slices.Clone(w.n.trials), func(t host.NetworkTrial) bool { return t.ID == id })
	if len(left) == len(w.n.trials) {
		return fmt.Errorf("end checkpoint %s: no other program has such a checkpoint", id)
	}
	w.n.trials = left
	return nil
}

// New returns the links of a machine; nothing runs on them before NetworkUp.
func New(m *machine.Machine, o Options, localDNS func(netip.Addr) bool) *Links {
	n := &Links{
		Machine: m, options: o, localDNS: localDNS,
		silent: map[netip.Addr]bool{}, refusing: map[netip.Addr]bool{}, occupied: map[netip.Addr]bool{},
		known: map[netip.Addr][]string{}, segments: map[netip.Addr]int{}, served: map[string]error{},
	}
	m.OnKill(func() { // NetworkManager rolls back the transaction of a program that is gone
		if n.open != nil {
			n.net, n.open = *n.open, nil
		}
	})
	return n
}

// Addresses that run, in the order of interfaces.
func (n *Links) Addresses() []netip.Prefix { return n.net.addresses() }

// Reset forgets the transactions: a boot begins.
func (n *Links) Reset() { n.open, n.pending = nil, nil }

const (
	// switchDB exists where Open vSwitch knows br-ex; the fake keeps the uplink's name in it.
	switchDB = "/etc/openvswitch/conf.db"
	// netTransaction records a network change between its commit and its last profile.
	netTransaction = "/etc/NetworkManager/hosttest-transaction.json"
	// netWide keeps what no profile holds.
	netWide = "/etc/NetworkManager/hosttest-node.json"
)

// nodeWide is what the disk has of what no profile holds.
func (n *Links) nodeWide() (d netstate.Document) {
	if text, err := n.ReadFile(netWide); err == nil {
		_ = json.Unmarshal(text, &d) // the fake wrote it
	}
	return d
}

// UplinkName is the interface that becomes the uplink of br-ex.
func (n *Links) UplinkName() string {
	if n.options.VLAN != 0 {
		return fmt.Sprintf("%s.%d", n.options.Uplink, n.options.VLAN)
	}
	return n.options.Uplink
}

// InstalledProfiles are the profiles that the installer wrote, by path.
func (n *Links) InstalledProfiles() map[string]machine.Inode {
	all := map[string]machine.Inode{}
	for name, p := range n.firstProfiles() {
		all[keyfilePath(name)] = machine.Secret(p.keyfile())
	}
	return all
}

func (n *Links) firstProfiles() map[string]profile {
	o, no := n.options, false
	up := profile{iface: netstate.Interface{
		Name: n.UplinkName(), Type: netstate.TypeEthernet, State: netstate.StateUp,
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

// NetworkUp brings up what the booted deployment's profiles say.
func (n *Links) NetworkUp() error {
	n.net = network{profiles: n.profilesIn(""), wide: n.nodeWide()}
	defer n.changed()
	if db, err := n.ReadFile(switchDB); err == nil {
		if uplink := strings.TrimSpace(string(db)); n.net.profiles[uplink].iface.Name != "" {
			n.net.bridged = uplink
		}
	}
	return nil
}

// RestartNetwork ends NetworkManager and starts it again: what it has in memory only, a change under way included, is lost, and the
// profiles on disk come up.
func (n *Links) RestartNetwork() error {
	n.Lock()
	defer n.Unlock()
	if n.pending != nil {
		n.pending.expiry.Stop()
	}
	n.open, n.pending = nil, nil
	return n.NetworkUp()
}

// profilesIn reads the profiles below a root; those that cannot be read do not count.
func (n *Links) profilesIn(root string) map[string]profile {
	found := map[string]profile{}
	own, _, err := host.FindConnectionsDir(rootReader{n, root})
	if err != nil {
		return found
	}
	dir, err := n.Resolve(path.Join(root, own), true)
	if err != nil {
		return found
	}
	for _, name := range n.Disk.Children(dir) {
		if !strings.HasSuffix(name, keyfileSuffix) {
			continue
		}
		if p, err := readKeyfile(string(n.Disk.Live[path.Join(dir, name)].Data)); err == nil {
			found[p.iface.Name] = p
		}
	}
	return found
}

// rootReader reads files below a root.
type rootReader struct {
	links *Links
	root  string
}

func (r rootReader) Read(name string) ([]byte, error) {
	at, err := r.links.Resolve(path.Join(r.root, name), true)
	if err != nil {
		return nil, err
	}
	file, there := r.links.Disk.Live[at]
	if !there {
		return nil, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	return file.Data, nil
}

func (r rootReader) List(dir string) ([]string, error) {
	at, err := r.links.Resolve(path.Join(r.root, dir), true)
	if err != nil {
		return nil, nil // no folder has no files
	}
	return r.links.Disk.Children(at), nil
}

// BridgeUp is configure-ovs: br-ex over the interface with the default route.
func (n *Links) BridgeUp() error {
	if n.net.bridged != "" {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(n.net.profiles)) {
		if n.net.profiles[name].hasDefaultRoute() {
			n.net.bridged = name
			at, err := n.Resolve(switchDB, true)
			if err != nil {
				return err
			}
			return n.Disk.Put(at, machine.Text(name+"\n"), true)
		}
	}
	return errors.New("configure br-ex: no interface has a default route")
}

// ProfileAddresses are the addresses in the profiles below a root ("" is the booted system), sorted.
func (n *Links) ProfileAddresses(root string) []string {
	var all []string
	for _, p := range n.profilesIn(root) {
		for _, a := range p.addresses() {
			all = append(all, a.String())
		}
	}
	slices.Sort(all)
	return all
}
