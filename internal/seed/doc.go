// Package seed is the domain of seed images: an image of this node's system and cluster, from which other nodes start,
// made while the cluster it is taken from stays as it is.
//
// The node agent's controller writes a Request and starts UnitCreate; lca-cli's "seed" verbs run the flows. The package
// acts through ports and the step library and imports neither an adapter nor Kubernetes.
//
// # Which side does what
//
// The controller, while the API answers: the checks; detaching the cluster from its hub, and saving what it detached on
// the node first; reading the cluster's facts into Request.Cluster; writing the credentials to AuthFile; starting
// UnitCreate, also again after a reboot in the midst of an operation; afterwards health, the hub
// and the status. It need not delete or replace any object for the image's sake.
//
// The flow seed-create, on the node: it stops the cluster only while it takes a copy of /var and /etc, and starts it
// again. All that must not ship is removed from that copy: the objects of Shipped and of Request.Drop, the pull secret,
// tokens, credentials, SSH host keys. The cluster's own etcd, keys and objects are never changed, so there is nothing to
// repair. It publishes the image, writes OutcomeFile and removes the copy. Before the image is published a failure, an
// abort or too many attempts remove the copy and start the cluster. A power cut starts it, too.
package seed
