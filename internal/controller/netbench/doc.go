// Package netbench measures network policies under load: the controllers of the operator and of many nodes, which are simulated, on a real
// API server. It holds tests only; "make bench-network" runs them. Nothing imports it.
package netbench
