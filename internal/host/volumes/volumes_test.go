package volumes_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/volumes"
)

// machine stands for /sys and /dev: a file is a device.
type machine struct{ root string }

func newMachine(t *testing.T) machine {
	m := machine{t.TempDir()}
	require.NoError(t, os.MkdirAll(filepath.Join(m.root, "sys/class/block"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(m.root, "dev"), 0o755))
	return m
}

func (m machine) volumes() *volumes.Volumes {
	return volumes.New(volumes.Options{Sys: m.root + "/sys", Dev: m.root + "/dev", Run: m.root + "/run", Log: slog.New(slog.DiscardHandler)})
}

func (m machine) device(name string) string { return filepath.Join(m.root, "dev", name) }

func (m machine) plug(t *testing.T, name, image string) {
	require.NoError(t, os.Rename(image, m.device(name)))
	entry := filepath.Join(m.root, "sys/class/block", name)
	require.NoError(t, os.MkdirAll(entry+"/device", 0o755))
	require.NoError(t, os.WriteFile(entry+"/size", []byte("8192\n"), 0o644))
	require.NoError(t, os.WriteFile(entry+"/device/model", []byte("Stick \x1b[31m\n"), 0o644))
}

func (m machine) unplug(t *testing.T, name string) {
	require.NoError(t, os.RemoveAll(filepath.Join(m.root, "sys/class/block", name)))
	require.NoError(t, os.Truncate(m.device(name), 0))
	require.NoError(t, os.Remove(m.device(name)))
}

// tool runs a program of the machine, or skips where it is missing.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		t.Skipf("reason: %s is not installed", name)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}

// folderNode writes files to a folder of the machine's disk.
func folderNode(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		if target, link := strings.CutPrefix(content, "->"); link {
			require.NoError(t, os.Symlink(target, file))
			continue
		}
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	}
	return dir
}

func blank(t *testing.T, megabytes int64) string {
	image := filepath.Join(t.TempDir(), "image")
	require.NoError(t, os.WriteFile(image, nil, 0o644))
	require.NoError(t, os.Truncate(image, megabytes<<20))
	return image
}

func vfat(bits int, megabytes int64) func(*testing.T, string, map[string]string) string {
	return func(t *testing.T, label string, files map[string]string) string {
		image := blank(t, megabytes)
		tool(t, "mkfs.vfat", "-F", fmt.Sprint(bits), "-n", label, image)
		dir := folderNode(t, files)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			tool(t, "mcopy", "-i", image, "-s", "-Q", filepath.Join(dir, e.Name()), "::")
		}
		return image
	}
}

func isoImage(options ...string) func(*testing.T, string, map[string]string) string {
	return func(t *testing.T, label string, files map[string]string) string {
		image := filepath.Join(t.TempDir(), "image")
		tool(t, "genisoimage", append(append([]string{"-quiet", "-V", label, "-o", image}, options...), folderNode(t, files))...)
		return image
	}
}

func TestVolumes(t *testing.T) {
	for name, k := range map[string]struct {
		image func(t *testing.T, label string, files map[string]string) string
		links bool
	}{
		"FAT12": {vfat(12, 4), false}, "FAT16": {vfat(16, 16), false}, "FAT32": {vfat(32, 40), false},
		"ISO9660 with Rock Ridge": {isoImage("-R"), true}, "ISO9660 with Joliet": {isoImage("-J"), false},
		"ISO9660 with both": {isoImage("-R", "-J"), true},
	} {
		t.Run(name, func(t *testing.T) {
			hostcontract.TestVolumes(t, func(t *testing.T) hostcontract.VolumesFixture {
				m := newMachine(t)
				return hostcontract.VolumesFixture{
					Volumes: m.volumes(), Links: k.links, Unplug: func(device string) { m.unplug(t, device) },
					Plug: func(device, label string, files map[string]string) { m.plug(t, device, k.image(t, label, files)) },
				}
			})
		})
	}
}

func TestAModelCannotWriteToTheTerminal(t *testing.T) {
	m := newMachine(t)
	m.plug(t, "sda", vfat(12, 4)(t, "SITE-CONFIG", nil))
	all, err := m.volumes().List(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Stick [31m", all[0].Model)
}
