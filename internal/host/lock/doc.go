// Package lock implements host.NodeLock with a flock on a file in /run. The kernel releases it when its holder exits, so
// there is no stale lock. The file's content only names the holder and is trusted while that process
// runs. "flock /run/lca/operation.lock PROGRAM" is a holder too. Each flow reports its own unfinished operation
// (host.Reservation).
//
// cmd/lca-cli acquires the lock, cmd/lifecycle-agent reads its holder; the package imports the ports and
// golang.org/x/sys only.
package lock
