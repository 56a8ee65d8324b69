package iso_test

import (
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/volumes"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sites/iso"
)

func files() []iso.File {
	return []iso.File{{"site-config.yaml", []byte("a: b\n")}, {"empty.txt", nil}, {"long.bin", make([]byte, 5000)}}
}

func TestTheNodeReadsAnImage(t *testing.T) {
	image, err := iso.Image("cluster-config", files(), time.Now())
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sys/class/block/sr0"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "dev"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "dev/sr0"), image, 0o644))
	v := volumes.New(volumes.Options{Sys: root + "/sys", Dev: root + "/dev", Run: root, Log: slog.New(slog.DiscardHandler)})
	all, err := v.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "cluster-config", all[0].Label)
	opened, err := v.Open(t.Context(), all[0])
	require.NoError(t, err)
	defer opened.Close()
	for _, f := range files() {
		data, err := fs.ReadFile(opened, f.Name)
		require.NoError(t, err)
		require.Equal(t, string(f.Data), string(data))
	}
}

// Another program's reader finds the same.
func TestIsoinfoReadsAnImage(t *testing.T) {
	path, err := exec.LookPath("isoinfo")
	if err != nil {
		t.Skip("reason: isoinfo (package genisoimage) is not installed")
	}
	image, err := iso.Image("cluster-config", files(), time.Now())
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "image.iso")
	require.NoError(t, os.WriteFile(file, image, 0o644))
	run := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), path, append(args, "-i", file)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Contains(t, run("-d"), "Volume id: cluster-config")
	require.Contains(t, run("-J", "-f"), "/site-config.yaml")
	require.Equal(t, "a: b\n", run("-J", "-x", "/site-config.yaml"))
	require.Equal(t, "a: b\n", run("-x", "/SITE_CONFIG.YAML;1"))
}

func TestImagesThatAreRefused(t *testing.T) {
	for _, k := range []struct {
		label, name string
		count       int
	}{{"", "a", 1}, {string(make([]byte, 33)), "a", 1}, {"l", "", 1}, {"l", "a/b", 1}, {"l", "a", 100}} {
		in := make([]iso.File, k.count)
		for i := range in {
			in[i].Name = k.name
		}
		_, err := iso.Image(k.label, in, time.Now())
		require.Error(t, err)
	}
}
