// Package nmstatectl is the host.Network port over the nmstatectl command, for
// nodes that have it. lca-cli and the node agent construct it where the native
// backend (package nm) is not wanted. It must not import a domain package.
//
// Its promise is weaker than package nm's: nmstatectl writes profiles to disk
// before they are proved, so a power cut in between boots the unproved network.
// Recover then takes it back, once it is called.
//
// Command line: https://nmstate.io/user/cli_guide.html
package nmstatectl
