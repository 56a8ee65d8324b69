// Package rules lists where addresses, names and hashes live: fields of stored objects, files on disk, objects that a cluster makes
// again by itself, certificates without which it does not start. Adding a place is adding a line.
//
// recert and recert/inspect call it. It edits objects that it is given and reads nothing itself.
package rules
