package nm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/plan"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// preparePlan plans; it touches nothing.
func (t *transaction) preparePlan(ctx context.Context) error {
	if err := t.awaitReady(ctx); err != nil {
		return fmt.Errorf("wait for the network cards: %w", err)
	}
	if err := t.computeChanges(ctx); err != nil {
		return err
	}
	if len(t.changes) == 0 && len(t.bare) == 0 && t.global == nil && t.node == nil {
		return nil
	}
	return t.beginRecord()
}

// computeChanges plans against the snapshot and what runs. What the plan changes must have been read in full; where it reaches
// further than the document says (DNS servers elsewhere, say), everything is read.
func (t *transaction) computeChanges(ctx context.Context) error {
	p, err := t.makePlan()
	if err == nil && !p.Light() && !p.Switches() && !t.changesUnreadDevice(p) && !affectsUnnamed(t.want) {
		return t.acceptPlan(ctx, p)
	}
	// Devices of Open vSwitch share names, so that NetworkManager finds them in its whole list alone.
	if t.snap, err = t.c.readSnapshot(ctx); err != nil {
		return err
	}
	if t.now, err = t.n.observeWithKernel(ctx, t.c, t.snap); err != nil {
		return err
	}
	if err := t.c.fillFromApplied(ctx, t.snap, &t.now, t.concernedNames()); err != nil {
		return err
	}
	if p, err = t.makePlan(); err != nil {
		return err
	}
	if p.Switches() {
		if err := t.c.hasOpenVSwitch(ctx); err != nil {
			return err
		}
	}
	return t.acceptPlan(ctx, p)
}

// acceptPlan takes a plan that this node can carry out.
func (t *transaction) acceptPlan(ctx context.Context, p *plan.Plan) error {
	t.changes, t.bare, t.global, t.node = p.Changes, p.Bare, p.Global, p.Node
	if err := t.n.nodeWide().Able(t.node); err != nil {
		return err
	}
	if err := t.c.knowsTypes(ctx, t.changes); err != nil {
		return err
	}
	if err := t.n.findFiles(t.want); err != nil {
		return err
	}
	if err := t.n.speaksMPTCP(t.want); err != nil {
		return err
	}
	return kernelCan(t.changes)
}

// findFiles refuses a document that names files which the node does not have: NetworkManager would give up in the middle of the change.
func (n *Network) findFiles(want netstate.Document) error {
	for _, i := range want.Interfaces {
		if i.Dot1X == nil {
			continue
		}
		files := i.Dot1X.Files()
		for _, key := range slices.Sorted(maps.Keys(files)) {
			if _, err := n.o.Files.Read(files[key]); err != nil {
				return fmt.Errorf("interface %s: 802.1x.%s: %w; bring the file to the node first, with a MachineConfig for example",
					i.Name, key, err)
			}
		}
	}
	return nil
}

// mptcpSwitch says 1 where the kernel speaks Multipath TCP.
const mptcpSwitch = "/proc/sys/net/mptcp/enabled"

// speaksMPTCP refuses flags of Multipath TCP where the kernel does not use them: NetworkManager does not switch it on.
func (n *Network) speaksMPTCP(want netstate.Document) error {
	for _, i := range want.Interfaces {
		if i.MPTCP == nil || len(i.MPTCP.AddressFlags) == 0 || i.MPTCP.AddressFlags[0] == keys.MPTCPUnset {
			continue
		}
		if text, err := n.o.Files.Read(mptcpSwitch); err != nil || strings.TrimSpace(string(text)) != "1" {
			return fmt.Errorf("interface %s: mptcp.address-flags: the kernel does not speak Multipath TCP here; set the sysctl "+
				"net.mptcp.enabled to 1 first", i.Name)
		}
	}
	return nil
}

func (t *transaction) makePlan() (*plan.Plan, error) {
	want, err := plan.Resolve(t.asked, t.now)
	if err != nil {
		return nil, fmt.Errorf("resolve the document: %w", err)
	}
	t.want = want
	p, err := plan.New(t.want, t.now, t.snap, t.ephemeral)
	if err != nil {
		return nil, fmt.Errorf("plan the change: %w", err)
	}
	return p, nil
}

// changesUnreadDevice says that the plan changes a device of which only a file told: a document that names a card by its MAC
// address finds it late.
func (t *transaction) changesUnreadDevice(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c *plan.Change) bool {
		d, exists := t.snap.DeviceAt(c.Layer(), c.Iface)
		return exists && d.Path == ""
	})
}

// affectsUnnamed says that the document has orders for interfaces that it does not name.
func affectsUnnamed(d netstate.Document) bool {
	if d.RouteRules != nil && len(d.RouteRules.Config) > 0 {
		return true
	}
	return d.Routes != nil && slices.ContainsFunc(d.Routes.Config, func(r netstate.Route) bool { return r.NextHopInterface == "" })
}

// refreshState reads anew what the document is about.
func (t *transaction) refreshState(ctx context.Context) error {
	var err error
	t.snap, t.now, err = t.n.observeQuickly(ctx, t.c, t.concernedNames())
	return err
}

// concernedNames are the interfaces that the document mentions, in whatever role.
func (t *transaction) concernedNames() []string {
	var out []string
	for _, i := range t.asked.Interfaces {
		out = append(out, i.Name)
		if base := i.Base(); base != "" {
			out = append(out, base)
		}
		if i.Veth != nil {
			out = append(out, i.Veth.Peer)
		}
		out = append(out, plan.Ports(i)...)
	}
	if t.asked.Routes != nil {
		for _, r := range t.asked.Routes.Config {
			out = append(out, r.NextHopInterface)
		}
	}
	for _, c := range t.changes {
		out = append(out, c.Iface)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// beginRecord makes the journal's first record.
func (t *transaction) beginRecord() error {
	now := t.now
	t.record = &record{
		Version: journalVersion, Phase: phaseOpen, Began: t.n.o.Now(), Boot: t.n.o.Boot(), Ephemeral: t.ephemeral,
		After: joinDemands(t.want.Redacted(), netstate.Document{Routes: &netstate.Routes{}}),
	}
	if t.global != nil {
		t.record.GlobalOld, t.record.GlobalNew = &t.snap.Global, t.global
	}
	k, err := kernel.Read()
	if err != nil {
		return fmt.Errorf("observe the kernel: %w", err)
	}
	messages, err := kernel.ReadMessages()
	if err != nil {
		return fmt.Errorf("observe the kernel: %w", err)
	}
	var ifaces, bridges []string
	for _, c := range t.changes {
		d, _ := t.snap.DeviceAt(c.Layer(), c.Iface)
		t.record.Profiles = append(t.record.Profiles, touched{
			UUID: c.UUID, Iface: c.Iface, Layer: c.Layer(), Wanted: c.Action == plan.ActUp,
			Active: d.Active != nil && d.Active.UUID == c.UUID,
			Save:   c.Action == plan.ActUp && c.Edited() && !t.ephemeral, Delete: c.Action == plan.ActRemove && !t.ephemeral,
		})
		if c.Layer() == profile.LayerBridge {
			bridges = append(bridges, c.Iface)
			if _, exists := now.Find(c.Iface, netstate.TypeOVSBridge); !exists {
				t.record.NewBridges = append(t.record.NewBridges, c.Iface)
			}
		}
		if c.Layer() != profile.LayerLink {
			continue
		}
		ifaces = append(ifaces, c.Iface)
		t.recordPreserved(k, messages, c)
		// What a new profile displaces has to come back with the old network.
		if d.Active != nil && d.Active.UUID != c.UUID {
			if _, ok := t.snap.ActiveOn(c.Iface); ok {
				t.record.Profiles = append(t.record.Profiles, touched{UUID: d.Active.UUID, Iface: c.Iface, Active: true})
			}
		}
	}
	t.recordBareLinks(k, messages)
	ifaces = append(ifaces, t.bare...)
	t.record.PrimaryOld, t.record.PrimaryNew = plan.ClearedPrimaries(t.want, now)
	t.record.Before = t.withoutOwnMetrics(stateBefore(now, ifaces))
	t.record.Before.Interfaces = append(t.record.Before.Interfaces, t.bridgesBefore(bridges)...)
	if t.record.Node = t.node; t.node != nil {
		old := t.node.Old
		t.record.Before.Hostname, t.record.Before.OVSDB, t.record.Before.OVN = old.Hostname, old.OVSDB, old.OVN
	}
	t.record.Old, err = t.n.readKeyfiles(t.record.profileUUIDs())
	if err != nil {
		return fmt.Errorf("keep the former profiles: %w", err)
	}
	return nil
}

// withoutOwnMetrics leaves out the metrics that NetworkManager chose by itself: it may choose others for links that are made
// anew.
func (t *transaction) withoutOwnMetrics(d netstate.Document) netstate.Document {
	for n, r := range d.Routes.Config {
		if pr, ok := t.snap.ActiveOn(r.NextHopInterface); ok && !profile.SaysMetric(pr.Settings, r) {
			d.Routes.Config[n].Metric = 0
		}
	}
	return d
}

// bridgesBefore are bridges of Open vSwitch with those of their ports that have a profile: the others belong to other programs.
func (t *transaction) bridgesBefore(names []string) []netstate.Interface {
	var out []netstate.Interface
	for _, name := range names {
		have, exists := t.now.Find(name, netstate.TypeOVSBridge)
		if !exists || have.Bridge == nil {
			continue
		}
		b := netstate.Interface{Name: name, Type: netstate.TypeOVSBridge, State: have.State, Bridge: &netstate.Bridge{}}
		for _, p := range have.Bridge.Ports {
			if _, known := t.snap.DeviceAt(profile.LayerPort, p.Name); known {
				b.Bridge.Ports = append(b.Bridge.Ports, netstate.BridgePort{Name: p.Name, VLAN: p.VLAN})
			}
		}
		out = append(out, b)
	}
	return out
}

// recordPreserved notes what must be in place afterwards besides what the document says.
func (t *transaction) recordPreserved(k *kernel.State, all kernel.Messages, c *plan.Change) {
	if c.Action != plan.ActUp {
		return
	}
	if ports := t.portsOfOthers(c); len(ports) > 0 {
		kept := kernel.Foreign{Iface: c.Iface, Ports: ports}
		t.record.ForeignBefore, t.record.ForeignAfter = append(t.record.ForeignBefore, kept), append(t.record.ForeignAfter, kept)
	}
	// Without a profile, foreign and own addresses cannot be distinguished: the document alone decides.
	if was, ok := t.snap.ActiveOn(c.Iface); ok {
		f := kernel.ForeignOn(k, all, c.Iface, was.Settings)
		t.record.ForeignBefore = append(t.record.ForeignBefore, f)
		t.record.ForeignAfter = append(t.record.ForeignAfter, f.Without(t.want))
	}
	promised := profile.Implied(c.Iface, c.After)
	t.record.After = joinDemands(t.record.After, promised)
}

// portsOfOthers are the ports of a bridge that no document can describe, or that NetworkManager leaves alone, and that the change does
// not concern: those of virtual machines and containers.
func (t *transaction) portsOfOthers(c *plan.Change) (out []string) {
	bridge, exists := t.now.Find(c.Iface, netstate.TypeLinuxBridge)
	if !exists || bridge.Bridge == nil {
		return nil
	}
	for _, p := range bridge.Bridge.Ports {
		i, _ := t.now.Find(p.Name, "")
		others := i.State == netstate.StateIgnore || !slices.Contains(keys.Configurable(), i.Type)
		if others && !slices.ContainsFunc(t.changes, func(c *plan.Change) bool { return c.Iface == p.Name }) {
			out = append(out, p.Name)
		}
	}
	return out
}

// joinDemands is both documents' demands in one.
func joinDemands(a, b netstate.Document) netstate.Document {
	out := a
	out.Interfaces = slices.Concat(a.Interfaces, b.Interfaces)
	out.Routes = &netstate.Routes{}
	if a.Routes != nil {
		out.Routes.Config = append(out.Routes.Config, a.Routes.Config...)
	}
	out.Routes.Config = append(out.Routes.Config, b.Routes.Config...)
	return out
}

func (r *record) profileUUIDs() []string {
	var out []string
	for _, p := range r.Profiles {
		out = profile.AppendNew(out, []string{p.UUID})
	}
	return out
}

// carrierTime is how long a card may take to find its link after boot. Without one it
// cannot be activated, so waiting longer only delays the error.
const carrierTime = 15 * time.Second

// errNotReady ends the wait; what was missing then shows in the change itself.
var errNotReady = errors.New("not ready before the deadline")

// awaitReady waits, right after boot, until NetworkManager has started up and the wanted
// cards have a link, and leaves the snapshot it has seen. It gives up without an error: the change then says what is wrong.
func (t *transaction) awaitReady(ctx context.Context) error {
	check := func() ([]string, error) { return t.notReady(ctx) }
	if missing, err := check(); err != nil || len(missing) == 0 {
		return err
	}
	e := t.c.subscribeEvents()
	defer e.close()
	bounded, cancel := context.WithTimeoutCause(ctx, min(carrierTime, t.n.o.Settle), errNotReady)
	defer cancel()
	err := e.waitFor(bounded, check)
	if errors.Is(err, errNotReady) {
		t.log.Warn("going on without waiting any longer", "missing", err)
		return t.refreshState(ctx)
	}
	return err
}

func (t *transaction) notReady(ctx context.Context) ([]string, error) {
	p, err := t.c.readProperties(ctx, pathManager, ifaceManager)
	if err != nil {
		return nil, err
	}
	if profile.Get[bool](p, "Startup") {
		return []string{"NetworkManager is starting up"}, nil
	}
	if err := t.refreshState(ctx); err != nil {
		return nil, err
	}
	var out []string
	for _, i := range t.want.Interfaces {
		wantsLink := i.State != netstate.StateAbsent && i.State != netstate.StateDown
		for _, d := range t.snap.Devices {
			if d.Name == i.Name && d.State == profile.DeviceUnavailable && wantsLink {
				out = append(out, fmt.Sprintf("%s has no link", d.Name))
			}
		}
	}
	return out, nil
}
