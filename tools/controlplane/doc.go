// Package controlplane holds no code. Its module pins the two control-plane programs that tests and the lab node
// run, etcd and kube-apiserver, in a go.mod of their own: Kubernetes needs some thirty replace directives that must not leak
// into the product's module. controlplane.mk builds them; nothing imports this package.
package controlplane
