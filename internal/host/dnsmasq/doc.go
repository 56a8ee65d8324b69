// Package dnsmasq edits the two files by which a single-node cluster's dnsmasq is told
// which address to answer with and which address family to keep silent about.
//
// Both files belong to others as well: the override file is sourced by a shell script that the
// installer put on the node (it knows SNO_CLUSTER_NAME_OVERRIDE, SNO_BASE_DOMAIN_OVERRIDE
// and SNO_DNSMASQ_IP_OVERRIDE), so every other line stays as it is.
//
// Steps call it on host.Files with the root of a deployment, or "" for the running system.
// The package imports host and the standard library.
package dnsmasq
