// Package systemd implements the unit and power ports over systemd's D-Bus interface
// (org.freedesktop.systemd1, see org.freedesktop.systemd1(5)), so that a call returns with the
// result of its job and not with an exit code.
//
// lca-cli and the operator use it; the latter through the host's bus socket. Units of a
// deployment that is not running have no bus: their links are made and removed here.
//
// The package imports host, go-systemd and godbus.
package systemd
