// Package crashtest proves that a change of files survives a power cut at any moment.
//
// Record runs the change in a second process of the test binary and stops it at each system call
// (ptrace). What each call changed is kept as a new version of the inode concerned; fsync, fdatasync,
// syncfs and sync make versions durable. Check then enumerates, for every moment between two calls, the
// states that a file system may show after a power cut, in the manner of ALICE and CrashMonkey:
//
//   - an inode shows its durable version or any later one, whatever the others show;
//   - the entries of a folder are an inode too: a name is durable when the folder was flushed, not when
//     the file was;
//   - data that was not flushed may be missing, cut off, or zeros of the right length, however long
//     ago it was written;
//   - what a single call changes in one inode arrives as a whole: a rename inside a folder is atomic.
//
// Tests only. The package imports testify, golang.org/x/sys and the standard library, and needs Linux 5.3;
// where ptrace is not permitted the test is skipped with the reason.
package crashtest
