// Package scenario proves the product on a whole lab node: real systemd, ostree,
// NetworkManager, Open vSwitch, etcd and kube-apiserver. "make test" and "make
// test-lab" run it; it needs root. Of the product it knows the API types only.
package scenario
