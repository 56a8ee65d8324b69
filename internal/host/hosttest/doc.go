// Package hosttest is a node in memory with the behaviour that matters to flows
// that change nodes. Package hostcontract proves that it keeps what the ports promise.
//
// A Node has one disk with ostree stateroots, a view of the booted system on
// it, systemd units that start at boot, a network that comes up from its
// profiles, and an etcd whose data is a file. It can lose power before any single
// change to the disk (CrashAt, CrashWhen), and it then comes back as a real one
// would: with what had been made durable, and nothing else.
//
// Each part is a room: machine (disk, power, crashes), files, ostree, systemd, network, etcd. They share the machine and
// its lock; this package joins them, boots the node, and judges it. Tests use this package alone.
//
// Tests only. The package imports the ports, netstate and the standard library; it must not import
// a domain package, an adapter or Kubernetes.
package hosttest
