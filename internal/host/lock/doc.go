// Package lock implements host.NodeLock with a flock on a file in /run: the kernel lets go of
// it when its holder dies, so that a stale holder cannot be. The file's content only names the holder, and
// is believed as long as that process lives. "flock /run/lca/operation.lock PROGRAM" is a holder too. What an
// unfinished operation is, the flows say themselves (host.Standing).
//
// cmd/lca-cli takes the lock, cmd/lifecycle-agent looks at it; the package imports the ports and
// golang.org/x/sys only.
package lock
