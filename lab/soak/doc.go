// Package soak cuts a node's power again and again while its address is changed, rolled back or made final, and counts what
// comes back. A node is lost when it settles neither at the old nor at the new address in time, when it is seen at both, or when
// it can not be changed again. "lab soak" calls it, and "make soak" calls that.
//
// What is asked for and when the power goes is drawn from a seed, among what the node offers: a replay is the same as far as the
// node ends up at the same places. Of the product it knows the API
// types and the journal's format only.
package soak
