// Package relocation is what the flows of a relocatable node share: names of flows, steps, units and files, the record
// that the factory leaves on the node, the request of one reconfiguration, and the result for people.
//
// Package factory prepares a node for shipping, package onsite applies the site configuration, package report proves the
// node before it is shipped, package reconcile changes the cluster's objects, and package siteconfig is what a site wants. All of them
// and lca-cli import this package; it imports operation, stateroot and host ports only.
package relocation
