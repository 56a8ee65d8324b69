// Package stateroot is the step library for ostree stateroots: constructors that return flow.Step for deploying a
// second one beside the one that runs, copying the state into it, stopping and reviving the cluster, sealing, making
// it the default, rebooting and removing.
//
// Domains (ipconfig, ...) list these steps in their plans. The package imports flow, operation and the ports of
// internal/host only. Step names are a stored format: journals hold them.
package stateroot
