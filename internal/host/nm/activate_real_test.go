package nm

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/plan"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

const movedUUID = "5f6b8a5e-1c9e-4d3b-9a70-0c7d1a2b3c4e"

// ended is an activation that NetworkManager does not know any more.
const ended = dbus.ObjectPath("/org/freedesktop/NetworkManager/ActiveConnection/9999")

// changing is a transaction that waits for the activation of a card's profile, on a node where that profile is active.
func changing(t *testing.T, moved bool) (context.Context, *transaction) {
	t.Helper()
	n := nmtest.Start(t)
	n.Link("nic1")
	n.IP("link", "set", "nic1", "up")
	n.Keyfile("nic1.nmconnection", "[connection]\nid=nic1\nuuid="+movedUUID+"\ntype=ethernet\ninterface-name=nic1\n"+
		"[ipv4]\nmethod=manual\naddress1=198.51.100.9/24\n[ipv6]\nmethod=disabled\n")
	ctx, cancel := context.WithTimeout(t.Context(), nmtest.Patience(time.Minute))
	t.Cleanup(cancel)
	network := New(Options{Bus: SystemBus(nmtest.BusAddress), Files: nmtest.Disk{}, StateDir: t.TempDir(), Settle: nmtest.Patience(20 * time.Second)})
	c, err := network.connect(ctx)
	require.NoError(t, err)
	t.Cleanup(c.close)
	require.NoError(t, c.call(ctx, pathSettings, ifaceSettings+".ReloadConnections", nil))
	var path dbus.ObjectPath
	require.NoError(t, c.call(ctx, pathSettings, ifaceSettings+".GetConnectionByUuid", []any{movedUUID}, &path))
	tr := &transaction{n: network, c: c, log: slog.New(slog.DiscardHandler), activating: map[target]dbus.ObjectPath{}, activations: map[target]int{},
		changes: []*plan.Change{{Iface: "nic1", UUID: movedUUID, Before: &profile.Profile{Path: path}, After: profile.Settings{}, Moved: moved}}}
	tr.events = c.subscribeEvents()
	t.Cleanup(tr.events.close)
	n.Until("the card is up", func() bool { _, active := tr.running(ctx); return active })
	tr.activating[target{iface: "nic1"}] = ended
	return ctx, tr
}

// running is the card, and whether its profile is in force.
func (t *transaction) running(ctx context.Context) (profile.Device, bool) {
	all, err := t.c.readNamedDevices(ctx, []string{"nic1"})
	if err != nil || len(all) != 1 {
		return profile.Device{}, false
	}
	return all[0], all[0].State == profile.DeviceActivated && all[0].Active != nil && all[0].Active.UUID == movedUUID
}

func (t *transaction) disconnect(ctx context.Context) error {
	d, _ := t.running(ctx)
	if err := t.c.call(ctx, d.Path, ifaceDevice+".Disconnect", nil); err != nil {
		return err
	}
	return t.waitBounded(ctx, func() ([]string, error) {
		if d, _ := t.running(ctx); d.Active != nil {
			return []string{"nic1 is active"}, nil
		}
		return nil, nil
	})
}

func (t *transaction) activated(ctx context.Context) error {
	return t.waitBounded(ctx, func() ([]string, error) {
		waiting, _, err := t.pendingActivations(ctx)
		return waiting, err
	})
}

// NetworkManager activates the ports of a controller by itself, in place of the activation that was asked for.
func TestAnotherActivationOfTheSameProfileIsAwaited(t *testing.T) {
	ctx, tr := changing(t, false)
	require.NoError(t, tr.activated(ctx))
	d, _ := tr.running(ctx)
	require.Equal(t, d.Active.Path, tr.activating[target{iface: "nic1"}])
	require.Zero(t, tr.activations[target{iface: "nic1"}])
}

// A port that moves loses its activation to the former controller, and gets it under the new one.
func TestAPortThatMovesIsActivatedAgain(t *testing.T) {
	ctx, tr := changing(t, true)
	require.NoError(t, tr.disconnect(ctx))
	require.NoError(t, tr.activated(ctx))
	_, active := tr.running(ctx)
	require.True(t, active)
	require.Equal(t, 1, tr.activations[target{iface: "nic1"}])
}

func TestALostActivationOfAnotherInterfaceIsAFailure(t *testing.T) {
	ctx, tr := changing(t, false)
	require.NoError(t, tr.disconnect(ctx))
	require.ErrorContains(t, tr.activated(ctx), "NetworkManager gave up on nic1")
}

// The second end of a pair has a profile of a card, and there is no such card before the pair is made.
func TestBothEndsOfAPairAreActivatedAgain(t *testing.T) {
	ctx, tr := changing(t, false)
	files := tr.n.o.Files
	for name, kind := range map[string]string{"pair0": "veth", "pair1": "ethernet"} {
		text := "[connection]\nid=" + name + "\nuuid=00000000-0000-4000-8000-00000000000" + name[4:] + "\ntype=" + kind +
			"\ninterface-name=" + name + "\nautoconnect=false\n[ipv4]\nmethod=disabled\n[ipv6]\nmethod=disabled\n"
		if kind == "veth" {
			text += "[veth]\npeer=pair1\n"
		}
		require.NoError(t, files.Write(persistentDir+"/"+name+".nmconnection", []byte(text), 0o600))
	}
	require.NoError(t, tr.c.call(ctx, pathSettings, ifaceSettings+".ReloadConnections", nil))
	r := &record{Phase: phaseOpen, Profiles: []touched{
		{UUID: "00000000-0000-4000-8000-000000000001", Iface: "pair1", Active: true},
		{UUID: "00000000-0000-4000-8000-000000000000", Iface: "pair0", Active: true},
	}}
	require.NoError(t, tr.n.reactivateProfiles(ctx, tr.c, tr.events, r, nil))
	require.NoError(t, tr.waitBounded(ctx, func() ([]string, error) {
		all, err := tr.c.readNamedDevices(ctx, []string{"pair0", "pair1"})
		if err != nil || len(all) != 2 || all[0].State != profile.DeviceActivated || all[1].State != profile.DeviceActivated {
			return []string{"the pair is not active"}, err
		}
		return nil, nil
	}))
}
