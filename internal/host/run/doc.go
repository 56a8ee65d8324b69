// Package run is the one place of the product that executes programs.
//
// Adapters (ostree, systemd, containers, ...) hold a Runner and describe what they want
// as a Command; nothing else calls os/exec. That buys three promises everywhere at
// once: standard output and standard error are never mixed (a warning cannot break a
// JSON parser), every command ends (timeout or context, with its whole process group),
// and every command leaves Evidence without secrets.
//
// The package imports the standard library only.
package run
