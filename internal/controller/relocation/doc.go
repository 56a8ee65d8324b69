// Package relocation reconciles ClusterRelocation: the cluster's objects are brought to what the site wants part by part,
// and get their originals back when the object, or a field of it, goes. It runs in the operator role; what is done is
// internal/relocation/reconcile's. It reads nothing from a cache but its own object, and never sleeps.
package relocation
