// Package apiserverflags turns the configuration file of OpenShift's kube-apiserver into the flags of the upstream one, whose
// --openshift-config is a patch that upstream lacks.
//
// lab/cmd/nodelet calls it for the process it starts itself, lab/cmd/apiserver-entrypoint inside the container image. It knows
// only the fields that the lab's configuration has, and must not import the product.
package apiserverflags
