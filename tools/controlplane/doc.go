// Package controlplane holds no code. Its module pins the programs of Kubernetes that tests and the lab node run,
// etcd, kube-apiserver, kubelet, kube-controller-manager and kube-scheduler, in a go.mod of their own: Kubernetes needs some thirty
// replace directives that must not leak into the product's module. controlplane.mk builds them; nothing imports this package.
package controlplane
