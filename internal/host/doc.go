// Package host declares the ports through which the product touches a node, and
// the one list of every path, unit and file name it uses there.
//
// Domain packages (ipconfig, recert, ...) and controllers call these interfaces;
// the folders below this one implement them, one tool each (ostree, systemd,
// NetworkManager, ...). hosttest holds the fake node, hostcontract the suites that the fake
// and the real adapters pass.
//
// The package may import the standard library and pure value packages
// (netstate). It must not import an adapter, Kubernetes, or a domain package.
//
// Promises that hold for every method of every port, unless its comment says
// otherwise: it can be called again after it was interrupted (idempotent), it
// returns only when its effect would survive a power cut, and its error names
// what was attempted on what without ever carrying a secret.
package host
