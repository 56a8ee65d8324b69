package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/klauspost/pgzip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
)

// Options configure an Archives.
type Options struct {
	// Root is the host's root as this process sees it; empty is "/".
	Root string
	// Level of compression, 1 to 9; 0 chooses.
	Level int
	// MaxContent bounds the files of an archive of which no size is declared; 0 chooses.
	MaxContent int64
}

// Archives implements host.Archives.
type Archives struct {
	root       *files.Files
	level      int
	maxContent int64
}

var _ host.Archives = (*Archives)(nil)

const (
	defaultLevel = 6
	// defaultMaxContent: holes cost nothing to write, but all to read.
	defaultMaxContent = 4 << 40
	// block is compressed by one processor at a time. It decides the bytes of the result, so it is a constant.
	block = 1 << 20
	// readSize is how much of a file is read at once.
	readSize = 1 << 20
)

// New returns an Archives beneath the root.
func New(o Options) *Archives {
	if o.Level == 0 {
		o.Level = defaultLevel
	}
	if o.MaxContent == 0 {
		o.MaxContent = defaultMaxContent
	}
	return &Archives{root: files.New(o.Root), level: o.Level, maxContent: o.MaxContent}
}

// Pack implements host.Archives.
func (a *Archives) Pack(ctx context.Context, r host.ArchiveRequest, to io.Writer) (host.ArchiveStats, error) {
	stats, err := a.writeArchive(ctx, r, to)
	if err != nil {
		return stats, fmt.Errorf("archive %s: %w", r.Dir, err)
	}
	return stats, nil
}

func (a *Archives) writeArchive(ctx context.Context, r host.ArchiveRequest, to io.Writer) (host.ArchiveStats, error) {
	top, err := a.root.Open(r.Dir, os.O_RDONLY)
	if err != nil {
		return host.ArchiveStats{}, fmt.Errorf("open %s: %w", r.Dir, err)
	}
	defer top.Close()
	zip, err := pgzip.NewWriterLevel(to, a.level)
	if err != nil {
		return host.ArchiveStats{}, fmt.Errorf("start compression: %w", err)
	}
	if err := zip.SetConcurrency(block, 2*runtime.GOMAXPROCS(0)); err != nil {
		return host.ArchiveStats{}, fmt.Errorf("set the blocks of compression: %w", err)
	}
	count := &counting{to: bufio.NewWriterSize(zip, readSize)}
	p := newPacker(ctx, r, count)
	err = p.packTree(top)
	if err == nil {
		err = p.tar.Close()
	}
	if err == nil {
		err = count.to.Flush()
	}
	if cerr := zip.Close(); err == nil { // also where it failed: it ends the goroutines
		err = cerr
	}
	size := host.ArchiveSize{Bytes: count.n, Content: p.content}
	return host.ArchiveStats{Files: p.files, ArchiveSize: size}, err
}

// counting counts what passes.
type counting struct {
	to *bufio.Writer
	n  int64
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// Unpack implements host.Archives.
func (a *Archives) Unpack(ctx context.Context, dir string, from io.Reader, r host.ArchiveReading) error {
	if err := a.unpackInto(ctx, dir, from, r); err != nil {
		return fmt.Errorf("unpack into %s: %w", dir, err)
	}
	return nil
}

func (a *Archives) unpackInto(ctx context.Context, dir string, from io.Reader, r host.ArchiveReading) error {
	if err := a.root.MakeFolder(dir); err != nil {
		return fmt.Errorf("make folder %s: %w", dir, err)
	}
	top, err := a.root.Open(dir, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer top.Close()
	d := &disk{top: int(top.Fd()), parent: -1}
	defer d.closeParent()
	return a.readInto(ctx, from, r, d)
}

// Verify implements host.Archives.
func (a *Archives) Verify(ctx context.Context, from io.Reader, r host.ArchiveReading) error {
	if err := a.readInto(ctx, from, r, nowhere{}); err != nil {
		return fmt.Errorf("verify the archive: %w", err)
	}
	return nil
}
