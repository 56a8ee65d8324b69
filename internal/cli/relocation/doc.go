// Package relocation holds the verbs of "lca-cli relocation". cmd/lca-cli builds them; they parse flags and call the
// domains below internal/relocation. They must not import an adapter.
package relocation
