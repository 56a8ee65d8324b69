// Package flow runs a list of named steps so that it survives being killed at any moment: the runner journals each step
// before it begins and after it has ended.
//
// Domain packages (ipconfig, ...) build Plans, lca-cli runs them, and the operator reads the journal only. The package
// knows neither Kubernetes nor Linux: it imports the standard library and nothing else.
//
// A run begins by locating in the journal where the last one ended (Locate), and one table (resume.go) decides what
// follows: continue, roll back, or nothing. A plan has one commit point. Before it, a failure undoes every step begun,
// last first; after it, the only way is forward.
package flow
