// Package restore lays a seed image into a new stateroot of the node that it runs on, and boots that. From the reboot on
// package relocation/onsite continues, as on a node that was prepared in a factory: it proves the network, gives the cluster
// its identity, and goes back to the cluster that ran before when anything fails.
//
// lca-cli calls it. It imports step libraries, relocation and host ports, no adapter.
package restore
