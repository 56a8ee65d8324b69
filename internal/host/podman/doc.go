// Package podman implements host.RecertImages: it has recert done by an image, in a container that sees the host's
// folders, beside a container of the cluster's own etcd over the cluster's data.
//
// Mounts, environment, names and arguments are those that the field's image expects. One thing differs on purpose:
// etcd has a network of its own that recert joins, instead of the host's, so that no other process of the host
// reaches a store without authentication (docs/decisions/0010-container-engine.md).
//
// The image's work is not a transaction. A run that was begun and has not ended is therefore never repeated: a record
// beside the configuration tells, and the caller goes back to the system it came from.
//
// The package is built by cmd/lca-cli. It imports the host ports, host/run and the standard library.
package podman
