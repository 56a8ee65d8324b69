//go:build lab

package scenario

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// bondPatience is for two changes and a way back, one after the other, on an emulated machine.
const bondPatience = 100 * time.Minute

// bonded is a node whose uplink is a bond of two cards.
type bonded struct {
	t   *testing.T
	lab *lab.Lab
	d   *drive.Driver
	// delivered is what the bond was like at first: it stays the same throughout.
	delivered string
}

// bondedNode makes such a node.
func bondedNode(t *testing.T, name string) (context.Context, *bonded) {
	t.Helper()
	if kind() != machine.QEMU {
		t.Skip("reason: a bond needs a kernel with bonding, which the emulated machine has: make test-bond")
	}
	ctx := begin(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bondPatience)
	t.Cleanup(cancel)
	l := bootWith(ctx, t, name, lab.Tools{Bond: true})
	t.Cleanup(func() { takeDown(t, l) })
	b := &bonded{t: t, lab: l, d: driver(ctx, t, l, home, away)}
	carriedBy(ctx, t, l, network.Bond, 0)
	b.delivered = b.bond(ctx)
	return ctx, b
}

// TestBondWithBothCablesPulled changes the address of a node whose uplink is a bond, and pulls both cables: it goes back by itself.
func TestBondWithBothCablesPulled(t *testing.T) {
	ctx, b := bondedNode(t, "scenario-bond")
	b.bothCablesPulled(ctx)
	require.Equal(t, b.delivered, b.bond(ctx))
}

// TestBond moves a node into a VLAN on the bond that is its uplink, with one cable pulled, out of it again, and rolls it back into
// the VLAN.
func TestBond(t *testing.T) {
	ctx, b := bondedNode(t, "scenario-bond-vlan")
	tag(ctx, t, b.lab, 100, network.Away())
	b.oneCablePulled(ctx, func() {
		change(ctx, t, b.d, object{"ipv4": ipv4Away(), "dnsServers": []string{network.Away().DNS.Addr().String()}, "vlanID": 100})
		isTagged(ctx, t, b.lab, network.Bond, away, home, 100)
	})
	require.Equal(t, b.delivered, b.bond(ctx))
	keep(ctx, t, b.d)

	inVLAN := b.profiles(ctx)
	change(ctx, t, b.d, object{"ipv4": ipv4Home(), "dnsServers": []string{network.Home().DNS.Addr().String()}, "vlanID": 0})
	isTagged(ctx, t, b.lab, network.Bond, home, away, 0)
	require.Equal(t, b.delivered, b.bond(ctx))
	require.NoError(t, b.d.Stage(ctx, lcav1.StageRollback))
	_, err := b.d.Until(ctx, "a completed rollback", drive.Is(lcav1.ConditionRollbackCompleted))
	require.NoError(t, err)
	isTagged(ctx, t, b.lab, network.Bond, away, home, 100)
	require.Equal(t, b.delivered, b.bond(ctx))
	require.Equal(t, inVLAN, b.profiles(ctx), "the profiles of the old system are untouched")
}

// bothCablesPulled loses both cables once the new system is at work: it goes back by itself.
func (b bonded) bothCablesPulled(ctx context.Context) {
	b.t.Helper()
	profiles := b.profiles(ctx)
	require.NoError(b.t, b.d.Patch(ctx, move()))
	untilJournal(ctx, b.t, b.lab, "the new stateroot at work", `"done","step":"check-seal"`)
	b.cable(ctx, 0, false)
	b.cable(ctx, 1, false)
	until(ctx, b.t, "the old stateroot", func() bool {
		state, err := b.lab.Machine.State(ctx)
		return err == nil && state.Stateroot == "rhcos"
	})
	b.cable(ctx, 0, true)
	b.cable(ctx, 1, true)
	ipc, err := b.d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(b.t, err)
	require.Contains(b.t, drive.Summary(ipc), "gateway 198.51.100.1 on ")
	requireBack(ctx, b.t, b.lab, b.d, ipc)
	carriedBy(ctx, b.t, b.lab, network.Bond, 0)
	require.Equal(b.t, profiles, b.profiles(ctx), "the profiles of the old system are untouched")
}

// oneCablePulled does something while the cable in use is pulled.
func (b bonded) oneCablePulled(ctx context.Context, do func()) {
	b.t.Helper()
	b.cable(ctx, 0, false)
	b.inUse(ctx, network.Second)
	do()
	b.cable(ctx, 0, true)
	b.inUse(ctx, network.Uplink)
	until(ctx, b.t, "the answer by the first cable", func() bool { return drive.Look(ctx, b.lab, away).API })
}

func (b bonded) cable(ctx context.Context, card int, plugged bool) {
	b.t.Helper()
	require.NoError(b.t, b.lab.Cable(ctx, card, plugged))
}

// inUse waits until the bond sends by a card.
func (b bonded) inUse(ctx context.Context, card string) {
	b.t.Helper()
	until(ctx, b.t, "a bond that uses "+card, func() bool {
		return says(ctx, b.lab, "grep -qx "+card+" /sys/class/net/"+network.Bond+"/bonding/active_slave")
	})
}

// bond is what the kernel says of the bond, once it uses the card that it prefers: its address, options and ports.
func (b bonded) bond(ctx context.Context) string {
	b.t.Helper()
	b.inUse(ctx, network.Uplink)
	script := "cd /sys/class/net/" + network.Bond + "; cat address; cd bonding; " +
		"cat mode miimon primary primary_reselect fail_over_mac; tr ' ' '\\n' < slaves | sort"
	state := in(ctx, b.t, b.lab, "sh", "-c", script)
	require.Contains(b.t, state, "active-backup 1\n100\n"+network.Uplink+"\n")
	require.True(b.t, strings.HasSuffix(state, network.Uplink+"\n"+network.Second), "both ports: %s", state)
	return state
}

// profiles are the sums of all key files that are stored.
func (b bonded) profiles(ctx context.Context) string {
	b.t.Helper()
	return in(ctx, b.t, b.lab, "sh", "-c", "sha256sum /etc/NetworkManager/system-connections/*")
}
