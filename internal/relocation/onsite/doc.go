// Package onsite makes a node at home on its site: it waits for a configuration, proves the site's network before it
// changes anything else, gives the cluster its new identity, and hands the credentials over. Until the network is proved
// everything is undone in place and another configuration may come; from then on the way back is the factory's stateroot.
//
// lca-cli calls it from the unit lca-relocation.service. It imports step libraries and host ports, no adapter.
package onsite
