package nm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const merged = "/etc/NetworkManager/systemConnectionsMerged"

// mounts of a node with the overlay of option C: what is changed on the node is in memory.
const mounts = `21 1 8:1 / / rw,relatime shared:1 - xfs /dev/sda4 rw
22 21 0:20 / /run rw,nosuid,nodev shared:2 - tmpfs tmpfs rw,mode=755
23 21 0:40 / ` + merged + ` rw,relatime shared:9 - overlay overlay rw,lowerdir=/etc/NetworkManager/system-connections,` +
	`upperdir=/run/nm-system-connections,workdir=/run/nm-system-connections-work
24 21 0:41 / /mnt rw - overlay overlay rw,lowerdir=/a,upperdir=/var/b,workdir=/var/c
`

// The journal, the recovery before NetworkManager runs and the removal of what is new all look into that folder. The machine config's
// profiles below stay as they are.
func TestRecoveryUnderAnOverlay(t *testing.T) {
	const below, at, made = persistentDir + "/x.nmconnection", merged + "/x.nmconnection", merged + "/new.nmconnection"
	under := func() memory {
		return memory{"/etc/NetworkManager/conf.d/99-kni.conf": "[keyfile]\npath=" + merged + "\n", "/proc/self/mountinfo": mounts,
			below: oldFile, at: newFile, made: "[connection]\nuuid=u2\n"}
	}
	m := under()
	files, err := offline(m).readKeyfiles([]string{"u1", "u2"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{at: newFile, made: "[connection]\nuuid=u2\n"}, files)

	r := &record{Version: journalVersion, Phase: phaseOpen, Boot: "now", Profiles: []touched{{UUID: "u1", Iface: "eno1"}, {UUID: "u2", Iface: "eno2"}},
		Old: map[string]string{at: oldFile}}
	n := offline(m)
	n.o.Boot = func() string { return "now" }
	require.NoError(t, n.storeJournal(r))
	require.NoError(t, n.RecoverFiles(t.Context()))
	require.Equal(t, oldFile, m[at])
	require.Equal(t, oldFile, m[below])
	require.NotContains(t, m, made)

	// The next boot has the machine config's profiles, and nothing of the change to put back: the upper folder was in memory.
	m = under()
	m[at] = "[connection]\nuuid=u1\n# of the machine config\n"
	n = offline(m)
	n.o.Boot = func() string { return "next" }
	require.NoError(t, n.storeJournal(r))
	require.NoError(t, n.RecoverFiles(t.Context()))
	require.Equal(t, "[connection]\nuuid=u1\n# of the machine config\n", m[at])
}
