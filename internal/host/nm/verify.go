package nm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nodewide"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/plan"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// States of an active connection.
const activeActivated = 2

// awaitInPlace waits until the system is what the document says. It fails at once where
// NetworkManager gave up or another machine uses the address.
func (t *transaction) awaitInPlace(ctx context.Context) error {
	if err := t.waitBounded(ctx, t.notInPlace(ctx)); err != nil {
		return err
	}
	t.n.settleForeign(ctx, t.events, t.record.ForeignAfter)
	return ctx.Err()
}

// notInPlace makes the check that names what is missing of the document.
func (t *transaction) notInPlace(ctx context.Context) func() ([]string, error) {
	unable := unable{patience: min(followTime, t.n.o.Settle/2)}
	answers := answers{patience: min(answerTime, t.n.o.Settle/2)}
	return func() ([]string, error) {
		waiting, asking, err := t.pendingActivations(ctx)
		if err != nil || len(waiting) > 0 {
			return waiting, err
		}
		if err := t.n.setPrimaries(t.record.PrimaryNew); err != nil {
			return nil, err
		}
		_, got, err := t.n.observeQuickly(ctx, t.c, t.concernedNames())
		if err != nil {
			return nil, err
		}
		putForeignBack(t.record.ForeignAfter)
		found := netstate.Compare(nodewide.Unstored(t.record.After), got)
		if err := unable.checkFollowed(found, time.Now()); err != nil {
			return nil, err
		}
		missing := t.findUnleased(got)
		for _, m := range found {
			missing = append(missing, m.Sentence)
		}
		if len(missing) == 0 {
			missing = answers.stillAwaited(append(asking, t.newlyAsked(got)...), time.Now())
		}
		for _, c := range t.changes {
			if err := t.checkDuplicate(c.Iface); err != nil && len(missing) > 0 {
				return nil, err
			}
		}
		return missing, nil
	}
}

// followTime is how long an interface that is activated may take to follow settings that are made with the activation.
const followTime = 10 * time.Second

// unable notices settings that a link does not follow: the wait for them would end in vain.
type unable struct {
	patience time.Duration
	since    time.Time
	settled  string
}

func (u *unable) checkFollowed(found []netstate.Mismatch, now time.Time) error {
	var words []string
	for _, m := range found {
		if m.Settled {
			words = append(words, m.Sentence)
		}
	}
	settled := strings.Join(words, "; ")
	if settled != u.settled || settled == "" {
		u.settled, u.since = settled, now
		return nil
	}
	if now.Sub(u.since) < u.patience {
		return nil
	}
	return fmt.Errorf("%s: NetworkManager has activated the interface and the link does not follow; leave the key out, "+
		"or give what the link can do", settled)
}

// putForeignBack adds what is missing of other programs' addresses and routes, and names what could not be added.
func putForeignBack(all []kernel.Foreign) (pending []string) {
	for _, f := range all {
		pending = append(pending, f.PutBack()...)
	}
	return pending
}

// settleForeign puts the addresses and routes of other programs back and waits for what cannot be there yet. Their owners
// repair them too, at the same time, so that a failure is no fault of the change: at the end of the wait the rest is left to
// its owner, and the log says what.
func (n *Network) settleForeign(ctx context.Context, e *events, all []kernel.Foreign) {
	ctx, cancel := context.WithTimeout(ctx, n.o.Foreign)
	defer cancel()
	var pending []string
	err := e.waitFor(ctx, func() ([]string, error) {
		pending = putForeignBack(all)
		return pending, nil
	})
	if err != nil {
		n.o.Log.Warn("addresses or routes of other programs could not be put back; they are left to the programs that own them",
			"missing", strings.Join(pending, "; "), "waited", n.o.Foreign)
	}
}

// setPrimaries makes the primary ports of bonds those of one side of the record. A bond that is missing is reported by the
// comparison with that side's state.
func (n *Network) setPrimaries(ports map[string]string) error {
	for _, bond := range slices.Sorted(maps.Keys(ports)) {
		set := func() error { return kernel.SetPrimary(n.o.Files, bond, ports[bond]) }
		if ports[bond] == "" {
			set = func() error { return kernel.ClearPrimary(n.o.Files, bond) }
		}
		if err := set(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// pendingActivations names the interfaces that NetworkManager still works on, and those for which only the network's answer is missing.
func (t *transaction) pendingActivations(ctx context.Context) (waiting, asking []string, err error) {
	for on, path := range t.activating {
		p, err := t.c.readProperties(ctx, path, ifaceActive)
		iface := on.iface
		if err != nil && !isGone(err) {
			return nil, nil, fmt.Errorf("observe the activation of %s: %w", iface, err)
		}
		switch state := profile.Get[uint32](p, "State"); {
		case isGone(err) || state > activeActivated:
			again, err := t.activationEnded(ctx, on)
			if err != nil {
				return nil, nil, err
			}
			if !again {
				return nil, nil, fmt.Errorf("NetworkManager gave up on %s: %s", iface, t.deviceReason(ctx, on))
			}
			waiting = append(waiting, iface+" is being activated again")
		case state < activeActivated:
			switch serves, asks, err := t.servesAlready(ctx, on); {
			case err != nil:
				return nil, nil, err
			case !serves:
				waiting = append(waiting, iface+" is being activated")
			case asks:
				asking = append(asking, "the network of "+iface+" has not answered yet")
			}
		}
	}
	slices.Sort(waiting)
	return waiting, asking, nil
}

// deviceReason is what NetworkManager says of the device's last change of state.
func (t *transaction) deviceReason(ctx context.Context, on target) string {
	s, err := t.c.readSnapshot(ctx)
	if err != nil {
		return err.Error()
	}
	d, ok := s.DeviceAt(on.layer, on.iface)
	if !ok {
		return "the device is gone"
	}
	p, err := t.c.readProperties(ctx, d.Path, ifaceDevice)
	if err != nil {
		return err.Error()
	}
	why, _ := p["StateReason"].Value().([]any)
	if len(why) != 2 {
		return fmt.Sprintf("device state %d", d.State)
	}
	text := map[uint32]string{
		0: "no reason given", 1: "unknown reason", 4: "the interface could not be configured", 5: "the addresses could not be used",
		6: "the DHCP lease ran out", 7: "a secret is missing", 8: "the supplicant disconnected", 9: "the supplicant refused the settings",
		10: "the supplicant failed", 11: "the authentication took too long",
		15: "DHCP did not start", 16: "DHCP error", 17: "DHCP failed", 36: "the device was removed",
		37: "the machine sleeps", 38: "the profile was removed", 39: "a user disconnected it", 40: "the cable is out",
		53: "a device it depends on failed", 60: "another activation took over",
		64: "Open vSwitch does not answer",
	}
	code, _ := why[1].(uint32)
	if s, ok := text[code]; ok {
		return s
	}
	return fmt.Sprintf("reason %d of NetworkManager's device states", code)
}

// checkDuplicate reports an address of the interface that another machine on its link has.
func (t *transaction) checkDuplicate(iface string) error {
	link, err := netlink.LinkByName(iface)
	if err != nil {
		return nil //nolint:nilerr // no link, no duplicate
	}
	if a, ok := t.events.duplicateOn(link.Attrs().Index); ok {
		return fmt.Errorf("another machine on the link of %s already has %s", iface, a)
	}
	return nil
}

// kernelCan refuses what the kernel would: better before the change than halfway.
func kernelCan(changes []*plan.Change) error {
	for _, c := range changes {
		if c.Action != plan.ActUp {
			continue
		}
		if err := checkKind(c.Iface, c.After.Kind()); err != nil {
			return err
		}
	}
	return nil
}

// CheckKernel implements host.NetworkPlanner.
func (n *Network) CheckKernel(want netstate.Document) error {
	for _, i := range want.Interfaces {
		t, known := keys.TypeOf(i.Type)
		if !known || i.State == netstate.StateAbsent {
			continue
		}
		if err := checkKind(i.Name, t.Profile); err != nil {
			return err
		}
	}
	return nil
}

// checkKind fails where the kernel has no links of the kind, which has the name of its type of profiles. A link with a multicast
// address is invalid, so nothing is made; a kernel that does not know the kind says so before it looks that far.
func checkKind(iface, kind string) error {
	module := keys.Module(kind)
	if module == "" {
		return nil
	}
	err := netlink.LinkAdd(&netlink.GenericLink{
		LinkAttrs: netlink.LinkAttrs{Name: "lca-probe", HardwareAddr: net.HardwareAddr{1, 0, 0, 0, 0, 0}}, LinkType: kind,
	})
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("interface %s: this kernel has no links of kind %s (module %s)", iface, kind, module)
	}
	return nil
}

// knowsTypes refuses types of links that the NetworkManager of the node is too old for.
func (c *client) knowsTypes(ctx context.Context, changes []*plan.Change) error {
	for _, change := range changes {
		since := keys.Since(change.After.Kind())
		if since == 0 || change.Action != plan.ActUp {
			continue
		}
		p, err := c.readProperties(ctx, pathManager, ifaceManager)
		if err != nil {
			return fmt.Errorf("read the version of NetworkManager: %w", err)
		}
		version := profile.Get[string](p, "Version")
		if !isSince(version, since) {
			return fmt.Errorf("interface %s: type %s needs NetworkManager 1.%d, and this node has %s",
				change.Iface, change.After.Kind(), since, version)
		}
	}
	return nil
}

// isSince says that a version such as 1.52.1 is 1.minor or later.
func isSince(version string, minor int) bool {
	var major, have int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &have)
	return err == nil && (major > 1 || major == 1 && have >= minor)
}

// capabilityOVS is NetworkManager's number of its Open vSwitch plug-in (NMCapability).
const capabilityOVS = 2

// hasOpenVSwitch refuses changes of Open vSwitch where NetworkManager could not make them.
func (c *client) hasOpenVSwitch(ctx context.Context) error {
	p, err := c.readProperties(ctx, pathManager, ifaceManager)
	if err != nil {
		return err
	}
	if slices.Contains(profile.Get[[]uint32](p, "Capabilities"), capabilityOVS) {
		return nil
	}
	return errors.New("NetworkManager has no Open vSwitch plug-in here, so it changes no ovs-bridge, port or ovs-interface; " +
		"install it (NetworkManager-ovs), or make the bridge with ovs-vsctl as the document says and apply the document again")
}

// stateBefore is how the given interfaces are now, in a form netstate.Verify can hold the system
// to after going back: fixed addresses and configured routes.
func stateBefore(now netstate.Document, ifaces []string) netstate.Document {
	out := netstate.Document{Routes: &netstate.Routes{}}
	for _, i := range now.Interfaces {
		if !slices.Contains(ifaces, i.Name) || i.Type == netstate.TypeOVSBridge {
			continue
		}
		b := netstate.Interface{Name: i.Name, Type: i.Type, State: i.State, VLAN: i.VLAN, VRF: i.VRF}
		if i.Bond != nil {
			b.Bond = &netstate.Bond{Mode: i.Bond.Mode, Ports: i.Bond.Ports}
		}
		if i.Bridge != nil {
			b.Bridge = &netstate.Bridge{}
			for _, p := range i.Bridge.Ports {
				b.Bridge.Ports = append(b.Bridge.Ports, netstate.BridgePort{Name: p.Name, VLAN: p.VLAN})
			}
		}
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			if ip := f.Of(i); ip != nil && !ip.Auto() && i.State == netstate.StateUp {
				keep := &netstate.IP{Enabled: ip.Enabled, Addresses: ip.Addresses}
				if f == netstate.IPv4 {
					b.IPv4 = keep
				} else {
					b.IPv6 = keep
				}
			}
		}
		out.Interfaces = append(out.Interfaces, b)
	}
	for _, r := range now.Routes.Config {
		if slices.Contains(ifaces, r.NextHopInterface) {
			out.Routes.Config = append(out.Routes.Config, r)
		}
	}
	return out
}
