// Package nmstate runs the integration suite of upstream's nmstate, and its fixtures, against this project's programs.
// The suite is upstream's own, unchanged; only the functions that it takes from its C library are this project's (shim). It has
// tests only, with the build tag nmstate; "make test-nmstate" runs them and writes docs/nmstate-suite.md.
package nmstate
