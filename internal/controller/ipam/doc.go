// Package ipam is the controller of address pools and claims: IPPool, IPClaim and IPAddress of
// ipam.metal3.io, and IPAddressClaim and IPAddress of the Cluster API's contract.
//
// That an address is given out once rests on one thing only: before anything else is written for a
// claim, the AddressLock of the address is created, whose name is made of the network and the address.
// The API server lets one of two creators of the same name succeed. What a replica holds in memory (the
// ledger: which addresses are free) is derived from the locks, may be stale, and can at worst cost
// another attempt. Replicas that are active at one time share the claims by what the locks tell of them
// (peers), which nothing rests on either. A claim costs three writes: lock, address, status of the claim; one more where the
// Cluster API's contract wants a finalizer. Whoever of two replicas writes the claim's status first
// has decided which of two locks a claim keeps; the other is released.
//
// After a start, claims that nobody has answered are served before all locks and claims are known (early.go).
//
// A release reads the claim past the cache first, deletes the address object, and then lets go of the
// lock, each only if it still is what was seen.
//
// internal/controller sets it up. It imports no other controller, and nothing of the host.
package ipam
