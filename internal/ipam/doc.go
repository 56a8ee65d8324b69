// Package ipam is the arithmetic of address pools: which addresses a pool has, who
// holds them, which one comes next. It is pure: no I/O, no Kubernetes, its clock and
// its randomness are given to it.
//
// What a Pool knows is derived. The truth is wherever the caller keeps its claims; a
// caller that starts builds a Pool from the Spec, records every holding it finds
// (Restore), and from then on asks (Claim) and reports (Restore, Release). Every
// answer costs O(log n) in what is held, whatever the size of the pool: a /64 is as
// cheap as a /24.
//
// The controllers of the kinds and kubectl-lca's ipam verb call it. It imports the
// standard library, netipx and a B-tree only.
package ipam
