package host

import (
	"context"
	"errors"
	"io/fs"
	"time"
)

// ErrUnitRunning is returned by Transients.Launch for a unit that still runs.
var ErrUnitRunning = errors.New("unit is already running")

// Files are the node's small files. Paths are absolute and resolved beneath
// the host's root, links included: none can lead out of it.
type Files interface {
	// Read returns an error matching fs.ErrNotExist where there is no such file.
	Read(path string) ([]byte, error)
	// Write replaces the file in one step (temporary file, fsync, rename, fsync
	// of the folder) and creates missing folders, private to root. A link at the end of the path is followed: its
	// target is replaced.
	Write(path string, data []byte, mode fs.FileMode) error
	// Append adds one record and fsyncs it. A power cut may leave a torn last line, which readers skip.
	Append(path string, data []byte, mode fs.FileMode) error
	// Remove deletes a file or a whole tree; a missing one counts as removed. The folder is flushed in any case, with what other
	// programs removed in it.
	Remove(path string) error
	// List names the entries of a folder, sorted; a missing folder is empty.
	List(path string) ([]string, error)
	// Stat does not follow a link at the end of the path.
	Stat(path string) (fs.FileInfo, error)
}

// CopyRequest describes one pass of a mirror.
type CopyRequest struct {
	From, To string
	// Skip lists paths relative to From (files or whole folders) to leave out.
	Skip []string
	// Always lists paths relative to From that are copied even if size and time are unchanged: data whose writers
	// do not maintain times.
	Always []string
	// Live marks a first pass over data in use: files that vanish or change are no error; a second pass
	// copies them again.
	Live bool
}

// CopyStats is the result of a mirror pass.
type CopyStats struct {
	Files, Copied, Removed int
	Bytes                  int64 // of data copied
	Reflinked              bool  // the filesystem shared the data instead
	Took                   time.Duration
}

// Size is space on a file system.
type Size struct {
	Bytes int64
	// Inodes is a number of files and folders; math.MaxInt64 where the filesystem sets no limit.
	Inodes int64
}

// Trees mirror whole folders and report on their file systems.
type Trees interface {
	// Mirror makes To equal to From: contents, owners, modes, times, extended attributes
	// (SELinux labels), hard links; files that From lacks are removed. Unchanged files (type, size, time) are not
	// copied again.
	Mirror(ctx context.Context, r CopyRequest) (CopyStats, error)
	// Usage is the space that the tree occupies.
	Usage(ctx context.Context, path string) (Size, error)
	// Free is the space that root may still use on the filesystem of path.
	Free(path string) (Size, error)
	// Shares says whether copies on the filesystem of the folder share their data (reflinks), so that a copy
	// takes almost no space.
	Shares(path string) (bool, error)
	// Sync flushes the filesystem of path to the disk.
	Sync(path string) error
}
