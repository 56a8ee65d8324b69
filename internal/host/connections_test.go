package host

import (
	"io/fs"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

// memory are files by path.
type memory map[string]string

func (m memory) Read(name string) ([]byte, error) {
	text, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (m memory) List(dir string) (out []string, err error) {
	for name := range m {
		if path.Dir(name) == dir {
			out = append(out, path.Base(name))
		}
	}
	return out, nil
}

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
		"no configuration":            {memory{}, NMConnections},
		"no path":                     {memory{nmMainConf: "[main]\npath=/elsewhere\n#[keyfile]\n"}, NMConnections},
		"the main file":               {memory{nmMainConf: set("/a")}, "/a"},
		"a folder beside it":          {memory{nmMainConf: set("/a"), nmOwnConf + "/99-kni.conf": set(merged)}, merged},
		"packages come before it":     {memory{nmMainConf: set("/a"), nmPackagedConf + "/99-x.conf": set("/b")}, "/a"},
		"this boot's come before it":  {memory{nmMainConf: set("/a"), nmBootConf + "/99-x.conf": set("/b")}, "/a"},
		"and after packages'":         {memory{nmBootConf + "/01-x.conf": set("/a"), nmPackagedConf + "/99-x.conf": set("/b")}, "/a"},
		"the last name counts":        {memory{nmOwnConf + "/10-a.conf": set("/a"), nmOwnConf + "/90-b.conf": set("/b/")}, "/b"},
		"a file hides its namesake":   {memory{nmPackagedConf + "/50-x.conf": set("/b"), nmOwnConf + "/50-x.conf": "[main]\n"}, NMConnections},
		"also that of this boot":      {memory{nmBootConf + "/50-x.conf": set("/b"), nmOwnConf + "/50-x.conf": ""}, NMConnections},
		"another suffix":              {memory{nmOwnConf + "/50-x.conf.bak": set("/b")}, NMConnections},
		"switched off":                {memory{nmOwnConf + "/50-x.conf": set("/b") + "[.config]\nenable=no\n"}, NMConnections},
		"an empty one is the default": {memory{nmMainConf: set("/a"), nmOwnConf + "/50-x.conf": set("")}, NMConnections},
	} {
		got, err := readConnectionsDir(c.files)
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
	for dir, want := range map[string]bool{merged: true, NMConnections: false, "/mnt": false, "/run/NetworkManager/system-connections": false} {
		require.Equal(t, want, isBelowMemory(ParseMounts(mounts), dir), dir)
	}
}
