// Package interop runs the product's results through other projects: their definitions, their examples and their programs.
// It has tests only, with the build tag interop; "make interop" runs them, and docs/interop.md says what they found.
package interop
