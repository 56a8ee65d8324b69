package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// Tenancy says which namespaces may use a network that pools name in spec.network. The network belongs to the namespace of the pool
// that was created first; the pools of that namespace may grant it to others.
type Tenancy struct {
	network, owner string
	// first is the pool that was created first.
	first   string
	granted map[string]bool
}

// TenancyOf reads the tenancy of a network from all pools that name it.
func TenancyOf(network string, pools []*metal3.IPPool) Tenancy {
	pools = slices.DeleteFunc(slices.Clone(pools), func(p *metal3.IPPool) bool { return Network(p) != network })
	if len(pools) == 0 {
		return Tenancy{network: network}
	}
	first := slices.MinFunc(pools, compareAge)
	t := Tenancy{network: network, owner: first.Namespace, first: PoolName(first), granted: map[string]bool{}}
	for _, p := range pools {
		if p.Namespace == t.owner {
			for _, namespace := range grantedNamespaces(p) {
				t.granted[namespace] = true
			}
		}
	}
	return t
}

// compareAge orders pools by their age, which the API server knows to the second, and pools of one age by their names.
func compareAge(a, b *metal3.IPPool) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// grantedNamespaces are the namespaces that a pool lets use its network.
func grantedNamespaces(p *metal3.IPPool) (namespaces []string) {
	for name := range strings.SplitSeq(p.Annotations[metal3.NetworkGrantAnnotation], ",") {
		if name = strings.TrimSpace(name); name != "" {
			namespaces = append(namespaces, name)
		}
	}
	return namespaces
}

// Refusal says why pools of a namespace may not use the network; nil where they may.
func (t Tenancy) Refusal(namespace string) error {
	if t.owner == "" || namespace == t.owner || t.granted[namespace] {
		return nil
	}
	return fmt.Errorf("network %s belongs to namespace %s, whose pool %s was created first: make a pool with another name in "+
		"spec.network, or have namespace %s list %s in annotation %s of its pool", t.network, t.owner, t.first, t.owner, namespace,
		metal3.NetworkGrantAnnotation)
}

// Same says that two tenancies let the same namespaces use the network.
func (t Tenancy) Same(as Tenancy) bool {
	return t.owner == as.owner && t.first == as.first && fmt.Sprint(t.granted) == fmt.Sprint(as.granted)
}
