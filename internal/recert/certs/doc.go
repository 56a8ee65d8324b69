// Package certs finds the certificates and keys in texts, finds out who signed whom, and signs certificates again with other names,
// another validity or another key. Whatever is signed is proved before it is used.
//
// Re-issue is a function of the data alone, except for signatures with salt and new keys. recert and recert/inspect call it; it reads
// the files that a rule names and nothing else of the node.
package certs
