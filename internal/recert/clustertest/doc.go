// Package clustertest makes whole single-node clusters up from a seed: what OpenShift keeps
// in etcd and on the node's disk, in the encodings that kube-apiserver uses, with the trees of certificates, their
// rotated signers, bundles and kubeconfigs, and plenty of neighbours that must not be touched.
//
// The same seed at other addresses gives the same cluster at other addresses: the keys are
// the same, and so is every byte that does not carry an address of the node. That makes it its own
// oracle: a cluster that was moved must be the one that was made up where it moved to.
//
// The control plane's certificates and their places are those of lab/cluster.
//
// It is called by the tests and benchmarks of internal/recert. It must not import that package.
package clustertest
