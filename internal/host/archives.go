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

// ArchiveStats is the result of Pack.
type ArchiveStats struct {
	Files int
	// Bytes is the size of the archive before compression.
	Bytes int64
}

// Archives turn trees into compressed archives and back.
type Archives interface {
	// Pack writes a gzip-compressed tar of a tree that nobody writes to: owners, modes, times, extended attributes, SELinux
	// labels, ACLs, hard links and holes included. The same tree gives the same bytes.
	Pack(ctx context.Context, r ArchiveRequest, to io.Writer) (ArchiveStats, error)
	// Unpack brings an archive back below dir, which it creates. No name leads out of it. What is there already stays,
	// unless the archive has it, too. sum is as in ArchiveRequest. The caller flushes the file system.
	Unpack(ctx context.Context, dir string, from io.Reader, sum func(name string, sum [32]byte)) error
}
