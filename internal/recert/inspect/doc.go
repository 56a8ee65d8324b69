// Package inspect reads a cluster at rest, its store and its disk, and writes nothing. A Survey holds its certificates and keys and what
// a configuration would change; Scan makes an inventory of one, and Verify proves that nothing is left to change.
//
// It is called by recert, which plans a run from a Survey, and through it by "lca-cli recert scan" and "verify". It does not import recert.
package inspect
