package trees

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// plantLarge makes a tree of the shape of a node's /var: many small files, some large.
func plantLarge(b *testing.B, root string) {
	b.Helper()
	for d := range 200 {
		dir := filepath.Join(root, fmt.Sprintf("d%d/sub", d))
		require.NoError(b, os.MkdirAll(dir, 0o755))
		for f := range 50 {
			data := strings.Repeat("s", 500+f*200)
			require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", f)), []byte(data), 0o644))
		}
	}
	for f := range 8 {
		require.NoError(b, os.WriteFile(filepath.Join(root, fmt.Sprintf("big%d", f)), make([]byte, 32<<20), 0o600))
	}
	unix.Sync()
}

// BenchmarkMirror compares a first pass, a pass over an unchanged tree, and cp. Run it with
// -benchtime 3x; each iteration writes 310 MB and ends flushed to disk. Every first pass has a
// target of its own: ext4 is slow to make inodes just after as many were removed.
func BenchmarkMirror(b *testing.B) {
	root := b.TempDir()
	plantLarge(b, filepath.Join(root, "from"))
	tr := New(Options{Root: root})
	targets := 0
	next := func() string {
		targets++
		return fmt.Sprintf("/to%d", targets)
	}
	mirror := func(b *testing.B, to string) {
		_, err := tr.Mirror(context.Background(), host.CopyRequest{From: "/from", To: to})
		require.NoError(b, err)
	}
	b.Run("cp-ar", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, exec.Command("cp", "-ar", filepath.Join(root, "from"), filepath.Join(root, next())).Run())
			require.NoError(b, exec.Command("sync", "-f", root).Run())
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			mirror(b, next())
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		to := next()
		mirror(b, to)
		for b.Loop() {
			mirror(b, to)
		}
	})
}
