package nm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// Whatever dies and whenever: afterwards there is the old network or the committed
// new one, and it can be changed again.

func TestCallerGivesUp(t *testing.T) {
	n := newNode(t)
	ctx, cancel := context.WithCancel(timeout(t))
	err := n.network().Apply(ctx, document(t, moved), func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	n.isOld()
	n.canMove()
}

func TestCallerDiesAndTheLeaseExpires(t *testing.T) {
	n := newNode(t)
	v := n.victim(moved, "proof")
	require.True(t, n.has("192.0.2.77/24"))
	v.kill()
	// Nobody of ours is left: NetworkManager does this alone.
	n.Until("the lease is over", func() bool { return n.has("192.0.2.10/24") })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isOld()
	n.canMove()
}

func TestCallerDiesAndIsRestartedAtOnce(t *testing.T) {
	n := newNode(t)
	n.victim(moved, "proof").kill()
	require.True(t, n.has("192.0.2.77/24"), "the lease is not over yet")
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isOld()
}

func TestApplyAfterADeadCallerRecoversFirst(t *testing.T) {
	n := newNode(t)
	n.victim(moved, "proof").kill()
	n.canMove()
}

func TestLeaseIsKeptAliveWhileTheProofRuns(t *testing.T) {
	n := newNode(t)
	n.lease = victimLease
	began := time.Now()
	err := n.network().Apply(timeout(t), document(t, moved), func(ctx context.Context) error {
		n.Until("the lease would be over", func() bool { return time.Since(began) > 2*victimLease })
		return ctx.Err()
	})
	require.NoError(t, err)
	n.isNew()
}

func TestManagerKilledInTheWindow(t *testing.T) {
	n := newNode(t)
	n.lease = victimLease
	err := n.network().Apply(timeout(t), document(t, moved), func(ctx context.Context) error {
		n.KillNM()
		<-ctx.Done() // the caller is told
		return ctx.Err()
	})
	require.ErrorContains(t, err, "checkpoint")
	require.True(t, n.has("192.0.2.77/24"), "with NetworkManager dead nobody has gone back")
	n.StartNM()
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isOld()
	n.canMove()
}

func TestManagerRestartedInTheWindow(t *testing.T) {
	n := newNode(t)
	n.lease = victimLease
	err := n.network().Apply(timeout(t), document(t, moved), func(ctx context.Context) error {
		n.KillNM()
		n.StartNM()
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorContains(t, err, "the old network is back")
	n.isOld()
}

func TestPowerCutInTheWindow(t *testing.T) {
	n := newNode(t)
	v := n.victim(moved, "proof")
	v.kill()
	n.PowerCut()
	n.boot()
	n.StartNM()
	n.Until("the old network boots by itself", func() bool { return n.has("192.0.2.10/24") && !n.has("192.0.2.77/24") })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isOld()
	n.canMove()
}

// The disk then holds what nobody committed, in full, in part or not yet: recovery has to put the old files back, here
// before NetworkManager even starts.
func TestPowerCutBetweenTheSaves(t *testing.T) {
	states := map[string]func(n *testNode){
		"nothing is flushed":  func(*testNode) {},
		"all is flushed":      func(n *testNode) { n.Sync() },
		"the name is flushed": func(n *testNode) { require.NoError(n.t, n.disk.Remove(nmtest.KeyfileDir+"/another")) },
	}
	for name, written := range states {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			v := n.victim(moved, "proof")
			n.save("uplink")
			require.NotEqual(t, uplinkProfile, n.text(n.keyfile), "the new profile is on disk, uncommitted")
			written(n)
			v.kill()
			n.PowerCut()
			n.boot()
			require.NoError(t, n.network().Recover(timeout(t)))
			require.Equal(t, uplinkProfile, n.text(n.keyfile))
			n.StartNM()
			require.NoError(t, n.network().Recover(timeout(t)))
			n.isOld()
		})
	}
}

// withCard is a document that makes a profile for a card that has none.
const withCard = "interfaces: [{name: nic1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]"

// profiles are the files of persistent profiles.
func (n *testNode) profiles() []string {
	n.t.Helper()
	names, err := n.disk.List(nmtest.KeyfileDir)
	require.NoError(n.t, err)
	return names
}

// A profile that a committed change removed does not come back with a power cut.
func TestPowerCutAfterARemoval(t *testing.T) {
	n := newNode(t)
	n.cards("nic1")
	n.apply(withCard)
	require.Len(t, n.profiles(), 2)
	n.apply("interfaces: [{name: nic1, type: ethernet, state: absent}]")
	n.PowerCut()
	require.Equal(t, []string{"uplink.nmconnection"}, n.profiles())
}

// Neither does one that was saved and not committed, once recovery has closed the journal.
func TestPowerCutAfterTheRecovery(t *testing.T) {
	n := newNode(t)
	n.cards("nic1")
	v := n.victim(withCard, "proof")
	n.save("nic1")
	n.Sync()
	v.kill()
	n.Until("the lease is over and NetworkManager has deleted the profile", func() bool { return len(n.profiles()) == 1 })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.settled()
	n.PowerCut()
	require.Equal(t, []string{"uplink.nmconnection"}, n.profiles())
}

// And one that NetworkManager gave its former text again, without a flush, keeps it.
func TestPowerCutAfterTheRecoveryOfAnEdit(t *testing.T) {
	n := newNode(t)
	n.canMove() // from here on the file is as NetworkManager writes it
	former := n.text(n.keyfile)
	v := n.victim(elsewhere, "proof")
	n.save("uplink")
	require.NotEqual(t, former, n.text(n.keyfile))
	n.Sync()
	v.kill()
	n.Until("the lease is over and the former profile is back", func() bool { return n.text(n.keyfile) == former })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.settled()
	n.PowerCut()
	require.Equal(t, former, n.text(n.keyfile))
}

func TestCallerDiesBetweenTheSaves(t *testing.T) {
	n := newNode(t)
	v := n.victim(moved, "proof")
	n.save("uplink")
	v.kill()
	n.Until("the lease is over", func() bool { return n.has("192.0.2.10/24") })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isOld()
}

// Dead after the commit, before the checkpoint ended: NetworkManager goes back, recovery
// must go forward again.
func TestCallerDiesRightAfterTheCommit(t *testing.T) {
	n := newNode(t)
	n.victim(moved, "committed").kill()
	n.Until("the lease is over", func() bool { return n.has("192.0.2.10/24") })
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isNew()
}

func TestCallerDiesRightAfterTheCommitAndIsRestartedAtOnce(t *testing.T) {
	n := newNode(t)
	n.victim(moved, "committed").kill()
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isNew()
}

func TestPowerCutRightAfterTheCommit(t *testing.T) {
	n := newNode(t)
	n.victim(moved, "committed").kill()
	n.PowerCut()
	n.boot()
	require.NoError(t, n.network().Recover(timeout(t)))
	n.StartNM()
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isNew()
}

func TestCommittedNetworkSurvives(t *testing.T) {
	n := newNode(t)
	require.NoError(t, n.network().Apply(timeout(t), document(t, moved), nil))
	n.KillNM()
	n.StartNM()
	n.isNew()
	n.PowerCut()
	n.boot()
	n.StartNM()
	n.isNew()
}

// The card died with the power: the old network cannot come back before the card does, and that must not keep anybody from setting
// up another.
func TestWhatCannotBeRecoveredBlocksNothing(t *testing.T) {
	n := newNode(t)
	n.victim(moved, "proof").kill()
	n.PowerCut()
	n.Link("spare0")
	n.IP("link", "set", "spare0", "up")
	n.StartNM()
	net := n.network()
	require.NoError(t, net.Recover(timeout(t)))
	n.settled()
	require.Equal(t, uplinkProfile, n.text(n.keyfile))
	spare := document(t, "interfaces: [{name: spare0, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}}]")
	require.NoError(t, net.Apply(timeout(t), spare, nil))
	n.settled()
}

func TestRecoverWithNothingToRecover(t *testing.T) {
	n := newNode(t)
	require.NoError(t, n.network().Recover(timeout(t)))
	n.isOld()
	n.KillNM()
	require.NoError(t, n.network().Recover(timeout(t)), "and without NetworkManager")
}

// isNew demands the second network, on the wire and on the disk.
func (n *testNode) isNew() {
	n.t.Helper()
	n.Until("the new addresses are there", func() bool { return n.has("192.0.2.77/24", "2001:db8::10/64") && !n.has("192.0.2.10/24") })
	n.Until("the new gateway is there", func() bool {
		return strings.Contains(n.IP("route"), "default via 192.0.2.254 dev uplink0") && !strings.Contains(n.IP("route"), "via 192.0.2.1 ")
	})
	require.Contains(n.t, n.text(n.keyfile), "192.0.2.77/24")
	n.settled()
}

// canMove proves that the node can be changed again.
func (n *testNode) canMove() {
	n.t.Helper()
	require.NoError(n.t, n.network().Apply(timeout(n.t), document(n.t, moved), nil))
	n.isNew()
}

// save has NetworkManager write a profile to disk, as the commit does.
func (n *testNode) save(id string) {
	n.t.Helper()
	conn, err := nm.SystemBus(nmtest.BusAddress)()
	require.NoError(n.t, err)
	defer conn.Close()
	const name = "org.freedesktop.NetworkManager"
	var paths []dbus.ObjectPath
	require.NoError(n.t, conn.Object(name, "/org/freedesktop/NetworkManager/Settings").Call(name+".Settings.ListConnections", 0).Store(&paths))
	for _, p := range paths {
		var s map[string]map[string]dbus.Variant
		require.NoError(n.t, conn.Object(name, p).Call(name+".Settings.Connection.GetSettings", 0).Store(&s))
		if s["connection"]["id"].Value() == id {
			require.NoError(n.t, conn.Object(name, p).Call(name+".Settings.Connection.Save", 0).Err)
			return
		}
	}
	n.t.Fatalf("no profile %s", id)
}
