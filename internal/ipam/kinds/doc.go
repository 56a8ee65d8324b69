// Package kinds reads the Kubernetes kinds of address management as what internal/ipam calculates
// with. The controllers, the webhook and the consistency checker call it, so that all three mean the
// same by a manifest. It imports the types and internal/ipam, and does no I/O.
package kinds
