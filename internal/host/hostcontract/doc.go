// Package hostcontract holds the behaviours that the comments on the ports of package host promise,
// as one suite a port: each adapter passes them on a real system, and the fake of hosttest in memory.
//
// Tests only. The package imports the ports, netstate, testify and the standard library; it must not
// import a domain package, an adapter, the fake or Kubernetes.
package hostcontract
