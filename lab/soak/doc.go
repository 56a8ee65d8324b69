// Package soak cuts a node's power again and again while its address is changed, rolled back or made final, and counts what
// comes back. A node is lost when it settles neither at the old nor at the new address in time, when it is seen at both, or when
// it can not be changed again. "lab soak" calls it, and "make soak" calls that.
//
// The moments are drawn from a seed: one seed asks for the same flows and the same delays. Of the product it knows the API
// types and the journal's format only.
package soak
