package nm

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nodewide"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/observe"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Observe implements host.Network. Addresses that cannot be used yet (duplicate
// address detection runs or failed) are left out; the tunnels of Open vSwitch are, too. It alone tells what the kernel gives by
// itself: link-local addresses, times that addresses have left, limits of the MTU.
func (n *Network) Observe(ctx context.Context) (netstate.Document, error) {
	select {
	case n.observing <- struct{}{}:
		defer func() { <-n.observing }()
	case <-ctx.Done():
		return netstate.Document{}, fmt.Errorf("observe the network: %w", context.Cause(ctx))
	}
	c, err := n.connect(ctx)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	defer c.close()
	_, d, err := n.observeQuickly(ctx, c, nil)
	if err == nil {
		err = c.addNeighbors(ctx, &d)
	}
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	if err := addShown(&d); err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	return d, nil
}

// addNeighbors adds what interfaces that listen have heard of their neighbors.
func (c *client) addNeighbors(ctx context.Context, d *netstate.Document) error {
	for k := range d.Interfaces {
		i := &d.Interfaces[k]
		if i.LLDP == nil || i.LLDP.Enabled == nil || !*i.LLDP.Enabled {
			continue
		}
		var path dbus.ObjectPath
		err := c.call(ctx, pathManager, ifaceManager+".GetDeviceByIpIface", []any{i.Name}, &path)
		if isGone(err) || isError(err, busName+".UnknownDevice") {
			continue
		}
		if err != nil {
			return fmt.Errorf("find %s: %w", i.Name, err)
		}
		device, err := c.readProperties(ctx, path, ifaceDevice)
		if isGone(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read the neighbors of %s: %w", i.Name, err)
		}
		received, _ := device["LldpNeighbors"].Value().([]map[string]dbus.Variant) // an older NetworkManager has none
		i.LLDP = &netstate.LLDP{Enabled: i.LLDP.Enabled, Neighbors: observe.Neighbors(received)}
	}
	return nil
}

// addShown adds what is shown and neither planned nor verified.
func addShown(d *netstate.Document) error {
	shown, err := kernel.ReadShown()
	if err == nil {
		observe.AddShown(d, shown)
	}
	return err
}

// observeQuickly reads the kernel once, NetworkManager quickly, and observes. What concerns the names is read in full.
func (n *Network) observeQuickly(ctx context.Context, c *client, names []string) (*profile.Snapshot, netstate.Document, error) {
	k, err := kernel.Read()
	if err != nil {
		return nil, netstate.Document{}, err
	}
	s, err := n.quickSnapshot(ctx, c, k, names)
	if err != nil {
		return nil, netstate.Document{}, err
	}
	d, err := n.joinWitnesses(ctx, c, k, s)
	if err == nil {
		err = c.fillFromApplied(ctx, s, &d, names)
	}
	return s, d, err
}

// fillFromApplied fills in what only the connections tell that NetworkManager has applied to the named interfaces.
func (c *client) fillFromApplied(ctx context.Context, s *profile.Snapshot, d *netstate.Document, names []string) error {
	for k := range d.Interfaces {
		i := &d.Interfaces[k]
		if i.Type == netstate.TypeOVSBridge || i.Type == netstate.TypeLoopback || !slices.Contains(names, i.Name) {
			continue
		}
		applied, err := c.appliedConnection(ctx, s, i.Name)
		if err != nil {
			return err
		}
		if applied != nil {
			observe.Complete(i, applied)
		}
		if i.Bond == nil {
			continue
		}
		for _, port := range i.Bond.Ports {
			if applied, err = c.appliedConnection(ctx, s, port); err != nil {
				return err
			}
			if applied != nil {
				i.Bond.PortsConfig = append(i.Bond.PortsConfig, observe.Member(port, applied))
			}
		}
	}
	return nil
}

// appliedConnection is the connection that NetworkManager has applied to a device; nil where there is none.
func (c *client) appliedConnection(ctx context.Context, s *profile.Snapshot, name string) (profile.Settings, error) {
	d, ok := s.Device(name)
	if !ok || d.Path == "" || d.Active == nil {
		return nil, nil
	}
	var out profile.Settings
	var version uint64
	err := c.call(ctx, d.Path, ifaceDevice+".GetAppliedConnection", []any{uint32(0)}, &out, &version)
	if isGone(err) || isError(err, busName+".Device.NotActive") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the connection applied to %s: %w", name, err)
	}
	return out, nil
}

// observeWithKernel reads the kernel and joins it with what NetworkManager said.
func (n *Network) observeWithKernel(ctx context.Context, c *client, s *profile.Snapshot) (netstate.Document, error) {
	k, err := kernel.Read()
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	return n.joinWitnesses(ctx, c, k, s)
}

// joinWitnesses joins three witnesses: the kernel for what is, NetworkManager for what
// the kernel cannot tell, Open vSwitch for its bridges.
func (n *Network) joinWitnesses(ctx context.Context, c *client, k *kernel.State, s *profile.Snapshot) (netstate.Document, error) {
	var err error
	var bridges []netstate.Interface
	if n.o.Switch != nil {
		if bridges, err = n.o.Switch.Interfaces(ctx); err != nil {
			return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
		}
	}
	dns, err := c.readResolver(ctx, s)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	rules, err := observe.Rules()
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	database, ovn, err := n.nodeWide().Settings(ctx)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	return netstate.Document{
		OVSDB: database, OVN: ovn,
		Hostname: n.observeHostname(ctx), RouteRules: &netstate.RouteRules{Config: rules},
		Interfaces: observe.Interfaces(k, s, bridges),
		Routes:     &netstate.Routes{Running: k.Routes, Config: kernel.Configured(k.Routes, k.Protocols)},
		DNS:        dns,
	}, nil
}

// nodeWide are the ports to what no profile holds.
func (n *Network) nodeWide() nodewide.Ports {
	database, _ := n.o.Switch.(nodewide.Database) // another source of interfaces has none
	return nodewide.Ports{Names: n.o.Names, Database: database}
}

// observeHostname leaves out what cannot be read.
func (n *Network) observeHostname(ctx context.Context) *netstate.Hostname {
	if n.o.Names != nil {
		return nodewide.Observe(ctx, n.o.Names)
	}
	out := &netstate.Hostname{}
	if name, err := os.Hostname(); err == nil {
		out.Running = &name
	}
	if text, err := n.o.Files.Read(host.HostnameFile); err == nil {
		out.Config = new(strings.TrimSpace(string(text)))
	}
	return out
}

// putBackName makes the stored name the one of a side, by its file alone: for the time before services run.
func (n *Network) putBackName(name *netstate.Hostname) error {
	switch {
	case name == nil || name.Config == nil:
		return nil
	case *name.Config == "":
		return n.o.Files.Remove(host.HostnameFile)
	default:
		return n.o.Files.Write(host.HostnameFile, []byte(*name.Config+"\n"), 0o644)
	}
}
