package archive_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
)

// plantState makes a tree of the shape of a node's /var: texts, some of them small, and what does not compress.
func plantState(b *testing.B, root string) (size int64) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	write := func(name string, data []byte) {
		require.NoError(b, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(b, os.WriteFile(filepath.Join(root, name), data, 0o600))
		size += int64(len(data))
	}
	for f := range 2000 {
		var text strings.Builder
		for range 100 {
			fmt.Fprintf(&text, "line %d of file %d with a number %d\n", r.IntN(1000), f, r.Uint32())
		}
		write(fmt.Sprintf("lib/d%d/f%d", f%50, f), []byte(text.String()))
	}
	noise := make([]byte, 16<<20)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for f := range 4 {
		write(fmt.Sprintf("lib/big%d", f), slices.Concat(noise, []byte(strings.Repeat("page of a database ", 1<<19))))
	}
	return size
}

// counter counts what is written.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }

// BenchmarkPack compares packing a tree with "tar czf" of the same tree in the same run: time, size, and the memory of this process.
func BenchmarkPack(b *testing.B) {
	root := b.TempDir()
	size := plantState(b, filepath.Join(root, "var"))
	var tar, own time.Duration
	var tarSize, ownSize int64
	var peak atomic.Uint64
	for b.Loop() {
		began := time.Now()
		cmd := exec.CommandContext(b.Context(), "tar", "czf", "-", "-C", root, "var")
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		tarSize, err = io.Copy(io.Discard, out)
		require.NoError(b, err)
		require.NoError(b, cmd.Wait())
		tar += time.Since(began)

		stop := sample(&peak)
		began = time.Now()
		var c counter
		_, err = archive.New(archive.Options{Root: root}).Pack(b.Context(), host.ArchiveRequest{Dir: "/var", Prefix: "var"}, &c)
		require.NoError(b, err)
		own, ownSize = own+time.Since(began), c.n
		stop()
	}
	b.SetBytes(size)
	b.ReportMetric(tar.Seconds()/own.Seconds(), "times-as-fast-as-tar")
	b.ReportMetric(float64(ownSize)/float64(tarSize), "of-tar's-size")
	b.ReportMetric(float64(peak.Load())/(1<<20), "peak-MiB")
}

// sample notes the most memory that the process has from the system.
func sample(peak *atomic.Uint64) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.Sys-m.HeapReleased))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(done); <-ended }
}
