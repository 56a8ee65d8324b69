// Package rehearsal holds tests that rehearse an IP change over the state of a lab node, with its real etcd and kube-apiserver in
// containers.
package rehearsal
