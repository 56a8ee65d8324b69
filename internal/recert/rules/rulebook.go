package rules

import (
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// Rulebook holds the rules that every key is compared with.
type Rulebook struct {
	Fields    []FieldRule
	Objects   []ObjectRule
	Deletions []Deletion
	Crypto    []string
	Hashing   []string
	Disk      []DiskRule
}

// NewRulebook returns all rules; those for the cluster's names only where they change.
func NewRulebook(cluster replace.Cluster) Rulebook {
	r := Rulebook{append(etcdRules(), certManagerRules()...), ObjectRules(), append(deletionRules(), certManagerRequests()),
		cryptoPrefixes(), hashingDeployments(), diskRules()}
	if !cluster.Empty() {
		r.Fields, r.Disk = append(r.Fields, clusterRules()...), append(r.Disk, clusterDiskRules()...)
	}
	return r
}

// Prefixes lists what has to be read, each key once.
func (r Rulebook) Prefixes() []string {
	var all []string
	for _, name := range slices.Concat(r.Crypto, scannedPrefixes(), r.Hashing) {
		all = append(all, StorageKey(name))
	}
	for _, f := range r.Fields {
		all = append(all, StorageKey(literalPrefix(f.Keys)))
	}
	for _, o := range r.Objects {
		all = append(all, StorageKey(literalPrefix(o.Keys)))
	}
	for _, d := range r.Deletions {
		all = append(all, StorageKey(d.Prefix))
	}
	slices.Sort(all)
	var out []string
	for _, p := range all {
		if len(out) == 0 || !strings.HasPrefix(p, out[len(out)-1]) {
			out = append(out, p)
		}
	}
	return out
}

// StorageKey completes a key that is one of kube-apiserver's.
func StorageKey(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return StoragePrefix + name
}

// literalPrefix is the part of a pattern before its first wildcard.
func literalPrefix(pattern string) string {
	for i := range len(pattern) {
		if isWildcard(pattern[i]) {
			return pattern[:i]
		}
	}
	return pattern
}
