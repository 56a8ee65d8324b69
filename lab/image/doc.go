// Package image builds what the lab's machines boot: a Debian node, as an ostree sysroot directory or as a bootable disk.
//
// The work is done by the bash scripts in recipe/, one per step; this package decides which of them must run. A step's
// result is kept under a name that contains the hash of everything it was made from (its scripts, the package list, the
// node's own configuration in overlay/, the results it builds on), so an unchanged recipe costs nothing, and a changed
// file rebuilds only what depends on it. Called by package lab; imports nothing of the product.
package image
