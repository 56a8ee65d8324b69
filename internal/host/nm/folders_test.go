package nm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const merged = "/etc/NetworkManager/systemConnectionsMerged"

// The folder of profiles is the one that NetworkManager takes from its configuration, file by file in its order.
func TestTheFolderOfProfilesIsNetworkManagersOwn(t *testing.T) {
	set := func(path string) string {
		return "[main]\nplugins=keyfile\n[keyfile]\nunmanaged-devices=none\npath = " + path + "\n"
	}
	for name, c := range map[string]struct {
		files memory
		want  string
	}{
		"no configuration":            {memory{}, persistentDir},
		"no path":                     {memory{mainConf: "[main]\npath=/elsewhere\n#[keyfile]\n"}, persistentDir},
		"the main file":               {memory{mainConf: set("/a")}, "/a"},
		"a folder beside it":          {memory{mainConf: set("/a"), ownConf + "/99-kni.conf": set(merged)}, merged},
		"packages come before it":     {memory{mainConf: set("/a"), packagedConf + "/99-x.conf": set("/b")}, "/a"},
		"this boot's come before it":  {memory{mainConf: set("/a"), bootConf + "/99-x.conf": set("/b")}, "/a"},
		"and after packages'":         {memory{bootConf + "/01-x.conf": set("/a"), packagedConf + "/99-x.conf": set("/b")}, "/a"},
		"the last name counts":        {memory{ownConf + "/10-a.conf": set("/a"), ownConf + "/90-b.conf": set("/b/")}, "/b"},
		"a file hides its namesake":   {memory{packagedConf + "/50-x.conf": set("/b"), ownConf + "/50-x.conf": "[main]\n"}, persistentDir},
		"also that of this boot":      {memory{bootConf + "/50-x.conf": set("/b"), ownConf + "/50-x.conf": ""}, persistentDir},
		"another suffix":              {memory{ownConf + "/50-x.conf.bak": set("/b")}, persistentDir},
		"switched off":                {memory{ownConf + "/50-x.conf": set("/b") + "[.config]\nenable=no\n"}, persistentDir},
		"an empty one is the default": {memory{mainConf: set("/a"), ownConf + "/50-x.conf": set("")}, persistentDir},
	} {
		got, err := offline(c.files).keyfileDir()
		require.NoError(t, err)
		require.Equal(t, c.want, got, name)
	}
}

// mounts of a node with the overlay of option C: what is changed on the node is in memory.
const mounts = `21 1 8:1 / / rw,relatime shared:1 - xfs /dev/sda4 rw
22 21 0:20 / /run rw,nosuid,nodev shared:2 - tmpfs tmpfs rw,mode=755
23 21 0:40 / ` + merged + ` rw,relatime shared:9 - overlay overlay rw,lowerdir=/etc/NetworkManager/system-connections,` +
	`upperdir=/run/nm-system-connections,workdir=/run/nm-system-connections-work
24 21 0:41 / /mnt rw - overlay overlay rw,lowerdir=/a,upperdir=/var/b,workdir=/var/c
`

func TestAnOverlayInMemoryEndsWithTheBoot(t *testing.T) {
	for dir, want := range map[string]bool{merged: true, persistentDir: false, "/mnt": false, "/run/NetworkManager/system-connections": false} {
		require.Equal(t, want, isBelowMemory(mounts, dir), dir)
	}
}

// The journal, the recovery before NetworkManager runs and the removal of what is new all look into that folder. The machine config's
// profiles below stay as they are.
func TestRecoveryUnderAnOverlay(t *testing.T) {
	const below, at, made = persistentDir + "/x.nmconnection", merged + "/x.nmconnection", merged + "/new.nmconnection"
	under := func() memory {
		return memory{ownConf + "/99-kni.conf": "[keyfile]\npath=" + merged + "\n", "/proc/self/mountinfo": mounts,
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
