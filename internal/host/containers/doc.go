// Package containers implements host.Containers with crictl, the command line of the
// Kubernetes container runtime interface.
//
// A flow calls it once the kubelet is down, so that nothing starts again what it
// stops; stopping the runtime itself (crio.service) is the flow's next step. A node
// without a runtime has nothing to stop.
//
// The package imports host, run and the standard library.
package containers
