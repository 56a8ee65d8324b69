// Package recert moves a stopped single-node cluster to new addresses or names: it plans the change, applies it and records what the
// data does not tell. It is the native engine behind host.Recert, called by `lca-cli ip-config post-pivot` while kubelet and container
// runtime are down, and, read-only, by `lca-cli ip-config plan` and `lca-cli recert`. It reaches the node through host.Keystore and
// host.Files only, and must not import an adapter, a Kubernetes client or another domain package.
//
// # Promises
//
//   - For a change of addresses, only leaf certificates that name an old one are re-issued, by the authority that issued them and for the
//     key they have. A leaf gets a new key only where its own is missing (newkeys.go).
//   - A leaf that cannot be signed again as it was, for its algorithm or the name constraints of an authority, is kept with a warning;
//     of those that etcd needs, one of the former kind gets another algorithm, and the others block the plan.
//   - Other names, another validity and given keys reach whole trees of certificates (certs/tree.go). No authority gets a generated key.
//   - All other bytes stay: texts are edited in place (wire), as whole words and names (replace).
//   - Values that cannot be read, such as those encrypted at rest, stop the run before anything is changed.
//   - The next run completes one that was interrupted anywhere, with the same result; a run after that changes nothing. Re-issue and
//     rewriting are functions of the data alone; for the rest (swaps, names, validity, given and new keys) a record is written first.
//   - No plan, summary, error or log contains a secret.
//
// # Packages
//
// Arrows run one way: recert -> inspect -> rules -> certs -> config -> replace -> wire. config is below certs, rules and inspect because
// all of them act on a configuration and its record; replace is apart from wire because mapping addresses and names is no format. inspect
// reads a cluster without the runner, and a plan is built from what it read.
//
// The format of recert_config.json and the list of places come from the behaviour of the field's tool
// (github.com/rh-ecosystem-edge/recert), which rewrites more; config.go lists what is refused.
package recert
