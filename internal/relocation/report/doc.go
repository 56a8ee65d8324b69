// Package report proves a node before it is shipped: what is wrong with it, what would block its reconfiguration on site,
// and what its certificates and images mean for the journey.
//
// lca-cli calls it. It imports the step libraries and host ports, no adapter, and writes nothing to the node.
package report
