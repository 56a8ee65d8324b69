package host

import (
	"context"
	"io"
)

// ArchiveRequest says what an archive holds. Paths in Skip, Empty and Keep are relative to Dir.
type ArchiveRequest struct {
	// Dir is the folder to archive. Prefix takes its place in the names of the archive: "var" gives "var/lib/x", "." gives
	// "./lib/x".
	Dir, Prefix string
	// Skip lists files and folders to leave out, Empty folders to archive without what is in them, SkipNames names that
	// are left out wherever they are.
	Skip, Empty, SkipNames []string
	// Keep lists files that are archived although they are in a folder of Empty.
	Keep []string
	// Only, where it is not nil, lists the files to archive, with the folders above them.
	Only []string
	// Sum sees the name in the archive and the SHA-256 of each regular file, in order; nil for none.
	Sum func(name string, sum [32]byte)
}

// ArchiveSize is how much an archive holds.
type ArchiveSize struct {
	// Bytes is the size of the archive before compression, Content that of all its files with their holes.
	Bytes, Content int64
}

// ArchiveStats is the result of Pack.
type ArchiveStats struct {
	Files int
	ArchiveSize
}

// ArchiveReading says what a reader of an archive knows of it and wants of it.
type ArchiveReading struct {
	// Size is what was declared when the archive was packed: another size is an error, found before more is read. A zero
	// is unknown.
	Size ArchiveSize
	// Sum is as in ArchiveRequest.
	Sum func(name string, sum [32]byte)
}

// Archives turn trees into compressed archives and back.
type Archives interface {
	// Pack writes a gzip-compressed tar of a tree that nobody writes to: owners, modes, times, extended attributes, SELinux
	// labels, ACLs, hard links and holes included. The same tree gives the same bytes. What Pack writes, Unpack accepts.
	Pack(ctx context.Context, r ArchiveRequest, to io.Writer) (ArchiveStats, error)
	// Unpack brings an archive back below dir, which it creates. Nothing outside of it is changed, whatever the archive
	// says. What is there already stays, unless the archive has it, too. The caller flushes the file system.
	Unpack(ctx context.Context, dir string, from io.Reader, r ArchiveReading) error
	// Verify reads an archive as Unpack does, and writes nothing: what one refuses because of the archive, so does the
	// other.
	Verify(ctx context.Context, from io.Reader, r ArchiveReading) error
}
