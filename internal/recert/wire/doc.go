// Package wire edits texts inside the formats in which a cluster keeps them, in place: protobuf and CBOR as kube-apiserver stores
// them, JSON, YAML, PEM, kubeconfigs and data URLs. All bytes that are not replaced stay, nothing is decoded and encoded again.
//
// The other packages of recert call it. It must not import one of them.
package wire
