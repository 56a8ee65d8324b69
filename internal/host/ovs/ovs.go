package ovs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// DefaultSocket is where ovsdb-server listens on every distribution we know.
const DefaultSocket = "/run/openvswitch/db.sock"

// Switch asks the Open vSwitch database at a unix socket. It keeps no
// connection between calls and may be used by several goroutines.
type Switch struct{ socket string }

var _ host.Switch = (*Switch)(nil)

// New makes a Switch over the socket; empty means DefaultSocket. It connects to nothing yet.
func New(socket string) *Switch {
	if socket == "" {
		socket = DefaultSocket
	}
	return &Switch{socket: socket}
}

// Uplink implements host.Switch. More than one candidate is an error that names them
// all: a guess could cost the node its network.
func (s *Switch) Uplink(ctx context.Context, bridge string) (string, error) {
	bridges, err := s.readBridges(ctx)
	if err != nil {
		return "", fmt.Errorf("find the uplink of bridge %s: %w", bridge, err)
	}
	i := slices.IndexFunc(bridges, func(b ovsBridge) bool { return b.name == bridge })
	if i < 0 {
		return "", fmt.Errorf("find the uplink of bridge %s: Open vSwitch has no such bridge", bridge)
	}
	var found []string
	for _, p := range bridges[i].ports {
		for _, l := range p.links {
			if l.isSystem() && l.name != bridge {
				found = append(found, l.name)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("find the uplink of bridge %s: no system interface is attached to it", bridge)
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("find the uplink of bridge %s: several system interfaces are attached: %s", bridge,
			strings.Join(slices.Sorted(slices.Values(found)), ", "))
	}
}

// Interfaces lists the ovs-bridge entries with their options and ports, and the ovs-interface
// entries (internal ones and ends of patches), without addresses; and, without a type, the kernel's links that have free-form
// columns. A system without Open vSwitch has none.
func (s *Switch) Interfaces(ctx context.Context) ([]netstate.Interface, error) {
	bridges, err := s.readBridges(ctx)
	if isNotRunning(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list Open vSwitch bridges: %w", err)
	}
	var out []netstate.Interface
	for _, b := range bridges {
		i := netstate.Interface{Name: b.name, Type: netstate.TypeOVSBridge, State: netstate.StateUp, OVSDB: b.columns}
		i.Bridge = &netstate.Bridge{Options: b.options}
		for _, p := range b.ports {
			i.Bridge.Ports = append(i.Bridge.Ports, netstate.BridgePort{Name: p.name, VLAN: p.vlan, Bond: p.bond})
			i.Bridge.AllowExtraPatchPorts = i.Bridge.AllowExtraPatchPorts || p.hasLinkKind("patch")
		}
		out = append(out, i)
		for _, p := range b.ports {
			out = append(out, p.ovsInterfaces()...)
		}
	}
	return out, nil
}

// ovsBridge and ovsPort are what this package reads of the database.
type ovsBridge struct {
	name    string
	options *netstate.BridgeOptions
	columns *netstate.OVSDB
	ports   []ovsPort // sorted by name
}

type ovsPort struct {
	name  string
	links []ovsLink // several make a bond
	vlan  *netstate.PortVLAN
	bond  *netstate.PortBond // nil for a port of one link
}

// ovsInterfaces are those of the port that only Open vSwitch has, and without a type those of the kernel of which its database says more.
func (p ovsPort) ovsInterfaces() []netstate.Interface {
	var out []netstate.Interface
	for _, l := range p.links {
		i := netstate.Interface{Name: l.name, Type: netstate.TypeOVSInterface, State: netstate.StateUp, OVSDB: l.columns}
		switch l.kind {
		case "internal":
			out = append(out, i)
		case "patch":
			i.Patch = &netstate.Patch{Peer: l.peer}
			out = append(out, i)
		default:
			if l.isSystem() && l.columns != nil {
				out = append(out, netstate.Interface{Name: l.name, OVSDB: l.columns})
			}
		}
	}
	return out
}

func (p ovsPort) hasLinkKind(kind string) bool {
	return slices.ContainsFunc(p.links, func(l ovsLink) bool { return l.kind == kind })
}

// ovsLink is what Open vSwitch calls an interface.
type ovsLink struct {
	name, kind, peer string
	columns          *netstate.OVSDB
}

// isSystem says that the link is the kernel's own, and no patch, tunnel or internal port.
func (l ovsLink) isSystem() bool { return l.kind == "" || l.kind == "system" }

// readBridges selects the three tables in one transaction, so that they fit together.
// Schema: ovs-vswitchd.conf.db(5).
func (s *Switch) readBridges(ctx context.Context) ([]ovsBridge, error) {
	c, err := dialDatabase(ctx, s.socket)
	if err != nil {
		return nil, err
	}
	defer c.close()
	rows, err := c.transact(ctx, "Open_vSwitch",
		selectAll("Bridge", "name", "ports", "stp_enable", "rstp_enable", "mcast_snooping_enable", "fail_mode", "datapath_type",
			"external_ids", "other_config"),
		selectAll("Port", "_uuid", "name", "interfaces", "tag", "trunks", "vlan_mode", "bond_mode", "lacp",
			"bond_updelay", "bond_downdelay", "external_ids", "other_config"),
		selectAll("Interface", "_uuid", "name", "type", "options", "external_ids", "other_config"))
	if err != nil {
		return nil, err
	}
	links := map[string]ovsLink{}
	for _, r := range rows[2] {
		links[r.uuidColumn("_uuid")] = ovsLink{r.stringColumn("name"), r.stringColumn("type"), r.mapColumn("options")["peer"], r.freeForm()}
	}
	ports := map[string]ovsPort{}
	for _, r := range rows[1] {
		p := ovsPort{name: r.stringColumn("name"), vlan: r.portVLAN()}
		for _, id := range r.uuidSetColumn("interfaces") {
			p.links = append(p.links, links[id])
		}
		slices.SortFunc(p.links, func(x, y ovsLink) int { return strings.Compare(x.name, y.name) })
		if len(p.links) > 1 {
			p.bond = r.portBond(p.links)
		}
		ports[r.uuidColumn("_uuid")] = p
	}
	return assembleBridges(rows[0], ports), nil
}

func assembleBridges(bridges []row, ports map[string]ovsPort) []ovsBridge {
	var out []ovsBridge
	for _, r := range bridges {
		b := ovsBridge{name: r.stringColumn("name"), options: r.bridgeOptions(), columns: r.freeForm()}
		for _, id := range r.uuidSetColumn("ports") {
			b.ports = append(b.ports, ports[id])
		}
		slices.SortFunc(b.ports, func(x, y ovsPort) int { return strings.Compare(x.name, y.name) })
		out = append(out, b)
	}
	slices.SortFunc(out, func(x, y ovsBridge) int { return strings.Compare(x.name, y.name) })
	return out
}
