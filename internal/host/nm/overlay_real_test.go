package nm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
)

// overlay lays a folder in memory over the profiles, as the machine config of "machineconfig --overlay" does, and has NetworkManager
// restart with it.
func (n *testNode) overlay() (merged string) {
	n.t.Helper()
	o := machineconfig.DefaultOverlay()
	require.Equal(n.t, nmtest.KeyfileDir, o.Lower)
	n.KillNM()
	for _, dir := range []string{o.Merged, o.Upper, o.Work} {
		require.NoError(n.t, os.RemoveAll(dir)) // of another test
		require.NoError(n.t, os.MkdirAll(dir, 0o755))
	}
	require.NoError(n.t, os.MkdirAll("/etc/NetworkManager/conf.d", 0o755))
	require.NoError(n.t, os.WriteFile("/etc/NetworkManager/conf.d/99-kni.conf", []byte(o.DropIn()), 0o600))
	options := "lowerdir=" + o.Lower + ",upperdir=" + o.Upper + ",workdir=" + o.Work
	if err := unix.Mount("overlay", o.Merged, "overlay", 0, options); err != nil {
		n.t.Skipf("reason: no overlay can be mounted here: %v", err)
	}
	n.t.Cleanup(func() { require.NoError(n.t, unix.Unmount(o.Merged, unix.MNT_DETACH)) })
	n.StartNM()
	n.Until("the uplink is up again", func() bool { return n.has("192.0.2.10/24") })
	return o.Merged
}

// movedWithCard is moved with a card beside the uplink.
var movedWithCard = strings.Replace(moved, "routes:", "- {name: nic1, type: ethernet, state: up, "+
	"ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}\nroutes:", 1)

// A profile that was saved and not committed when everything died is put back where NetworkManager reads it; the one of the machine
// config below is never touched.
func TestRecoveryPutsProfilesBackWhereNetworkManagerReadsThem(t *testing.T) {
	n := newNode(t)
	merged := n.overlay()
	n.cards("nic1")
	v := n.victim(movedWithCard, "proof")
	n.save("uplink")
	n.save("nic1")
	at := filepath.Join(merged, "uplink.nmconnection")
	require.NotEqual(t, uplinkProfile, n.text(at), "the new profile is saved, uncommitted")
	n.KillNM()
	v.kill()
	n.StartNM()
	require.NoError(t, n.network().Recover(timeout(t)))
	require.Equal(t, uplinkProfile, n.text(at))
	require.Equal(t, []string{"uplink.nmconnection"}, n.names(merged))
	n.isOld() // the lower folder, byte for byte
	require.NoError(t, n.network().Apply(timeout(t), document(t, moved), nil))
	require.True(t, n.has("192.0.2.77/24"))
	require.Equal(t, uplinkProfile, n.text(n.keyfile), "a committed change is of the upper folder")
	require.NotEqual(t, uplinkProfile, n.text(at))
}

// The process dies after its commit: recovery goes forward with the profiles that NetworkManager saved.
func TestACommitUnderAnOverlayIsFinished(t *testing.T) {
	n := newNode(t)
	merged := n.overlay()
	v := n.victim(moved, "committed")
	at := filepath.Join(merged, "uplink.nmconnection")
	committed := n.text(at)
	require.Contains(t, committed, "192.0.2.77/24")
	v.kill()
	n.Until("the lease is over", func() bool { return strings.Contains(n.text(at), "192.0.2.10/24") })
	require.NoError(t, n.network().Recover(timeout(t)))
	require.Equal(t, committed, n.text(at))
	n.Until("the committed network is there", func() bool { return n.has("192.0.2.77/24") })
	require.Equal(t, uplinkProfile, n.text(n.keyfile))
	n.settled()
}

func (n *testNode) names(dir string) []string {
	n.t.Helper()
	names, err := n.disk.List(dir)
	require.NoError(n.t, err)
	return names
}
