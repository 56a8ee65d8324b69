// Package secretscan finds secrets by what they are, in values of the cluster's store and in files, and removes them.
//
// A table of rules (rules.go) says what is a secret, how it is recognised, and what becomes of it; another (places.go) which places
// are secrets whatever they hold, which are not examined, and what is kept on purpose. Values are unpacked: base64, gzip, data URLs and
// the encodings of kube-apiserver. The package is pure: it reads and writes nothing, and no value leaves it, not even in part.
//
// internal/seed/create calls it. It imports the formats of recert, and no other package of the product.
package secretscan
