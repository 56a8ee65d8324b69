package volumes_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/volumes"
)

// Whatever is on a stick: no panic, and no more memory than the bounds allow.
func FuzzReadImage(f *testing.F) {
	for _, args := range [][]string{
		{"mkfs.vfat", "-F", "12", "-n", "SITE-CONFIG"}, {"mkfs.vfat", "-F", "16", "-n", "SITE-CONFIG"},
		{"mkfs.vfat", "-F", "32", "-n", "SITE-CONFIG"}, {"mkfs.exfat", "-L", "SITE-CONFIG"},
	} {
		image := f.TempDir() + "/image"
		if os.WriteFile(image, make([]byte, 2<<20), 0o644) != nil {
			continue
		}
		if exec.CommandContext(f.Context(), args[0], append(args[1:], image)...).Run() != nil {
			continue // the tool is missing, or finds 2 MiB too small
		}
		data, err := os.ReadFile(image)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 64<<10)])
	}
	for _, hostile := range hostileImages() {
		f.Add(hostile.data[:min(len(hostile.data), 256<<10)])
	}
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = volumes.ReadImage(t.Context(), data) })
}
