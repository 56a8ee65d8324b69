// Package snapshot is the domain of bootable copies of the running system: a way back to have in hand before an upgrade
// or a change by hand, and the smallest domain there is, to start a new one from.
//
// lca-cli's "stateroot" verbs call it. It acts through ports and the step library and imports no adapter.
package snapshot
