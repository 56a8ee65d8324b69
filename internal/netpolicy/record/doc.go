// Package record is what a node keeps of its network policies: what each one committed, how to revert it, and a bounded
// history that can be undone.
//
// The netpolicy domain writes it; the node agent and lca-cli read it. It imports the file port and operation only.
package record
