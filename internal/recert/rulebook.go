package recert

import (
	"slices"
	"strings"
)

// rulebook holds the rules that every key is held against.
type rulebook struct {
	fields    []fieldRule
	objects   []objectRule
	deletions []deletion
	crypto    []string
	hashing   []string
	disk      []diskRule
}

func newRulebook(cluster ClusterRenaming) rulebook {
	r := rulebook{append(etcdRules(), certManagerRules()...), objectRules(), append(deletions(), certManagerRequests()),
		cryptoPrefixes(), hashingDeployments(), diskRules()}
	if !cluster.empty() {
		r.fields, r.disk = append(r.fields, clusterRules()...), append(r.disk, clusterDiskRules()...)
	}
	return r
}

// prefixes lists what has to be read, each key once.
func (r rulebook) prefixes() []string {
	var all []string
	for _, name := range slices.Concat(r.crypto, scannedPrefixes(), r.hashing) {
		all = append(all, storageKey(name))
	}
	for _, f := range r.fields {
		all = append(all, storageKey(literal(f.keys)))
	}
	for _, o := range r.objects {
		all = append(all, storageKey(literal(o.keys)))
	}
	for _, d := range r.deletions {
		all = append(all, storageKey(d.prefix))
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

// storageKey completes a key that is one of kube-apiserver's.
func storageKey(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return storagePrefix + name
}

// literal is the part of a pattern before its first wildcard.
func literal(pattern string) string {
	for i := range len(pattern) {
		if isWildcard(pattern[i]) {
			return pattern[:i]
		}
	}
	return pattern
}
