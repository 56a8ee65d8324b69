// Package files implements host.Files on a real file system, beneath a root.
//
// lca-cli uses it on "/", the operator on the folder where its pod sees the host.
// The kernel resolves every path beneath that root (openat2 with RESOLVE_IN_ROOT):
// links that are absolute or climb with ".." stay inside, as they would for a program that
// had been chrooted. That is what makes /usr/local -> ../var/usrlocal and
// /ostree -> sysroot/ostree work from a pod, and a planted link harmless.
//
// The package imports host (for nothing but the port's documentation), the standard library
// and golang.org/x/sys. Needs Linux 5.6.
package files
