// Package operation is everything that one operation on a node has, whatever its flows are: an id, a request file in
// the workspace, a journal with its progress, an evidence bundle, and redaction.
//
// Domains (ipconfig, ...) build on it, lca-cli's verbs show what it reads, and controllers read journals through it.
// It knows no flow by name and imports flow and the ports of internal/host only.
package operation
