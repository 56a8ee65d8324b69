// Package reconcile brings the objects of a cluster to what its site wants, and back: domain with certificates and routes,
// pull secret, mirrors, trust, SSH keys, catalogs, time servers, node labels, manifests and the registration with a hub.
//
// The flow on site applies it once, part by part; the controller of ClusterRelocation reconciles it for as long as the
// object exists. Each part is a list of changes that is a function of the wanted configuration and of facts that the API
// server gives. A ledger in the cluster keeps the original of everything that is changed: a change that is no longer
// wanted gets its original back, and nothing else is touched.
//
// The package talks to the API server through a client that it is given. It imports siteconfig and cluster, no host port.
package reconcile
