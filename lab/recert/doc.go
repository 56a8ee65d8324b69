// Package recert holds tests that run the product's recert engine over the state
// of a lab node: a database that a real kube-apiserver filled, and the files beside it.
package recert
