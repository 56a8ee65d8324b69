package hostcontract

import (
	"context"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// VolumesFixture is a subject of TestVolumes.
type VolumesFixture struct {
	Volumes host.Volumes
	// Plug connects a device, with a filesystem of the label, and the files by their paths.
	Plug func(device, label string, files map[string]string)
	// Unplug takes it away without notice.
	Unplug func(device string)
	// Links says that the filesystem can hold links; a file whose content begins with "->" becomes one.
	Links bool
}

// TestVolumes proves what host.Volumes promises.
func TestVolumes(t *testing.T, fresh func(t *testing.T) VolumesFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[VolumesFixture]{
		{"volumes are listed by device with their labels", volumesListed},
		{"files are read, in folders too", volumesRead},
		{"a name that is not there, or leads out, is not found", volumesMissing},
		{"a link is listed and not followed", volumesLinks},
		{"a volume that is gone says so", volumesGone},
		{"a device that comes is noticed", volumesAwait},
	})
}

const volumeLabel = "SITE-CONFIG"

func (f VolumesFixture) labelled(t *testing.T, label string) []host.Volume {
	t.Helper()
	all, err := f.Volumes.List(t.Context())
	noError(t, err)
	var out []host.Volume
	for _, v := range all {
		if v.Label == label {
			out = append(out, v)
		}
	}
	return out
}

func volumesListed(t *testing.T, f VolumesFixture) {
	require.Empty(t, f.labelled(t, volumeLabel))
	f.Plug("a", volumeLabel, nil)
	f.Plug("b", "OTHER", nil)
	found := f.labelled(t, volumeLabel)
	require.Len(t, found, 1)
	require.NotEmpty(t, found[0].Device)
	require.NotEmpty(t, found[0].Disk)
	require.NotEmpty(t, found[0].Filesystem)
	f.Unplug("a")
	require.Empty(t, f.labelled(t, volumeLabel))
}

func (f VolumesFixture) open(t *testing.T, files map[string]string) host.VolumeFiles {
	t.Helper()
	f.Plug("a", volumeLabel, files)
	found := f.labelled(t, volumeLabel)
	require.Len(t, found, 1)
	opened, err := f.Volumes.Open(t.Context(), found[0])
	noError(t, err)
	t.Cleanup(func() { noError(t, opened.Close()) })
	return opened
}

func volumesRead(t *testing.T, f VolumesFixture) {
	long := string(make([]byte, 100_000)) + "end"
	files := f.open(t, map[string]string{"site-config.yaml": "a: b\n", "Folder/a rather long name of a file.yaml": long})
	for name, want := range map[string]string{"site-config.yaml": "a: b\n", "Folder/a rather long name of a file.yaml": long} {
		data, err := fs.ReadFile(files, name)
		noError(t, err)
		require.Equal(t, want, string(data))
	}
	entries, err := files.ReadDir(".")
	noError(t, err)
	kinds := map[string]bool{}
	for _, e := range entries {
		kinds[e.Name()] = e.IsDir()
	}
	require.Equal(t, true, kinds["Folder"])
	require.Contains(t, kinds, "site-config.yaml")
}

func volumesMissing(t *testing.T, f VolumesFixture) {
	files := f.open(t, map[string]string{"a.txt": "a"})
	for _, name := range []string{"b.txt", "a.txt/b", "../a.txt", "/a.txt", ""} {
		_, err := files.Open(name)
		require.Error(t, err, name)
	}
}

func volumesLinks(t *testing.T, f VolumesFixture) {
	if !f.Links {
		return // the filesystem has none
	}
	files := f.open(t, map[string]string{"site-config.yaml": "->/etc/passwd", "folder": "->/etc"})
	entries, err := files.ReadDir(".")
	noError(t, err)
	links := 0
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			links++
		}
	}
	require.Equal(t, 2, links)
	for _, name := range []string{"site-config.yaml", "folder/passwd"} {
		_, err := files.Open(name)
		require.Error(t, err)
	}
}

func volumesGone(t *testing.T, f VolumesFixture) {
	files := f.open(t, map[string]string{"site-config.yaml": string(make([]byte, 300_000))})
	found := f.labelled(t, volumeLabel)
	f.Unplug("a")
	_, err := f.Volumes.Open(t.Context(), found[0])
	require.ErrorIs(t, err, host.ErrVolumeGone)
	file, err := files.Open("site-config.yaml")
	if err == nil {
		_, err = io.ReadAll(file)
	}
	require.ErrorIs(t, err, host.ErrVolumeGone)
}

func volumesAwait(t *testing.T, f VolumesFixture) {
	plugged := false
	for end := time.Now().Add(waitLimit); len(f.labelled(t, volumeLabel)) == 0; {
		require.True(t, time.Now().Before(end))
		if !plugged {
			f.Plug("a", volumeLabel, nil)
			plugged = true
		}
		noError(t, f.Volumes.Await(t.Context()))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, f.Volumes.Await(ctx))
}
