// Package recert moves a stopped single-node cluster to new addresses: it finds the
// certificates and the fields that carry the old ones, inside etcd and on disk,
// and re-issues or rewrites exactly those.
//
// It is the native engine behind host.Recert, called by `lca-cli ip-config
// post-pivot` while kubelet and container runtime are down, and, read-only, by
// `lca-cli ip-config plan` and `lca-cli recert`. It speaks to the node through host.Keystore and
// host.Files only, and must not import an adapter, a Kubernetes client or
// another domain package.
//
// # Promises
//
//   - For a change of addresses, only leaf certificates that name an old one are
//     re-issued, by the authority that issued them and for the key pair they have. No authority and no
//     key changes, so nobody's trust has to.
//   - A node or a cluster is renamed by whole names: what only contains the old one stays (noderename.go, clusterrename.go).
//   - A leaf keeps its key, unless that is nowhere and has an empty place in the cluster (newkeys.go).
//   - Other names, another validity and given keys reach whole trees of certificates (tree.go), from the authority down,
//     with no authority's key made anew: nothing is signed by an authority whose key is not in the cluster or given.
//   - Addresses are compared as addresses (netip), in named fields, as whole words: 192.0.2.1
//     never touches 192.0.2.10, and any spelling of an IPv6 address is found.
//   - All other bytes stay what they were: protobuf, CBOR, JSON, YAML and PEM are edited in
//     place on the wire, not decoded and encoded again.
//   - What cannot be read (values encrypted at rest) stops the run before anything is touched.
//   - Re-issue and rewriting are functions of the data alone, so a run that
//     died anywhere is completed by the next, with the same result, and a run
//     after that finds nothing to do. Where they are not (swaps, names, validity, given and new keys), a record
//     is written first (progress.go).
//   - Secrets appear in no plan, summary, error or log.
//
// # Reading order
//
// config.go (what is asked), address.go (old to new), rules_*.go (where addresses
// live), locate.go and pki.go (where certificates live and who signed them),
// plan.go and apply.go. inventory.go (Scan) and verification.go (Verify) look at a
// cluster without changing it.
//
// The field's own tool rewrites more than this package does, see config.go for
// what is refused; the format of recert_config.json and the list of places come from
// its behaviour (github.com/rh-ecosystem-edge/recert).
package recert
