// Package ipconfig is the domain of changing a single node's address, gateway, DNS and VLAN: what operator and lca-cli
// agree on. That is the stage rules, the request files, the names of files, units, flows and steps, and the progress
// of a journal. Its rooms hold the rest: preflight the checks, network what a change makes of the network, change the flows.
//
// Truth: the user owns spec, the operator writes the request files once, lca-cli alone writes the journal, and status is
// a projection of journal and observation.
package ipconfig
