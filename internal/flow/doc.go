// Package flow runs a list of named steps so that it survives being killed at
// any moment: what is about to happen is written to a journal before it
// happens, and what happened after.
//
// Domain packages (ipconfig, ...) build Plans; lca-cli runs them; the
// operator only reads the journal. The package knows neither Kubernetes nor
// Linux: it imports the standard library and nothing else.
//
// A run always begins by asking the journal where the last one ended (Locate)
// and one table (resume.go) what follows from that: go on, take back, or
// nothing. A plan has one commit point. Before it, a failure takes back every
// step begun, last first; after it, the only way is forward.
package flow
