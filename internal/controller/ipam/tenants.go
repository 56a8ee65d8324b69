package ipam

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// tenants say which namespaces may use which network. A pool of another namespace allocates nothing, and what it says of addresses
// concerns no pool but itself. docs/decisions/0036-a-network-belongs-to-a-namespace.md says why.
type tenants struct {
	// pools are those of each network, also those that cannot be calculated with, as far as they say whose the network is.
	pools     map[string]map[types.NamespacedName]*metal3.IPPool
	networkOf map[types.NamespacedName]string
	tenancies map[string]kinds.Tenancy // by network
}

func newTenants() tenants {
	return tenants{pools: map[string]map[types.NamespacedName]*metal3.IPPool{}, networkOf: map[types.NamespacedName]string{},
		tenancies: map[string]kinds.Tenancy{}}
}

// refusalFor says why pools of a namespace may not use a network.
func (t *tenants) refusalFor(network, namespace string) error {
	return t.tenancies[network].Refusal(namespace)
}

// enrollPool records a pool among the tenants of its network; moved are the networks that other namespaces may use now.
func (l *ledger) enrollPool(pool *metal3.IPPool) (moved []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name, network := client.ObjectKeyFromObject(pool), kinds.Network(pool)
	if before, known := l.networkOf[name]; known && before != network {
		moved = l.strikePool(name, before) // another pool of that name
	}
	if l.pools[network] == nil {
		l.pools[network] = map[types.NamespacedName]*metal3.IPPool{}
	}
	grant := pool.Annotations[metal3.NetworkGrantAnnotation]
	before := l.pools[network][name]
	if before != nil && before.UID == pool.UID && before.Annotations[metal3.NetworkGrantAnnotation] == grant {
		return moved
	}
	l.networkOf[name] = network
	l.pools[network][name] = &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: pool.Namespace, Name: pool.Name, UID: pool.UID,
		CreationTimestamp: pool.CreationTimestamp, Annotations: map[string]string{metal3.NetworkGrantAnnotation: grant}},
		Spec: metal3.IPPoolSpec{Network: pool.Spec.Network}}
	return append(moved, l.reassignNetwork(network)...)
}

// expelPool is enrollPool for a pool that is gone.
func (l *ledger) expelPool(name types.NamespacedName) (moved []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if network, known := l.networkOf[name]; known {
		return l.strikePool(name, network)
	}
	return nil
}

func (l *ledger) strikePool(name types.NamespacedName, network string) (moved []string) {
	delete(l.networkOf, name)
	delete(l.pools[network], name)
	moved = l.reassignNetwork(network)
	if len(l.pools[network]) == 0 {
		delete(l.pools, network)
		delete(l.tenancies, network)
	}
	return moved
}

// reassignNetwork works out anew who may use a network. The addresses of objects without a lock are kept from others for pools that may.
func (l *ledger) reassignNetwork(network string) (moved []string) {
	before, now := l.tenancies[network], kinds.TenancyOf(network, slices.Collect(maps.Values(l.pools[network])))
	if now.Same(before) {
		return nil
	}
	l.tenancies[network] = now
	for _, objects := range l.objects {
		for _, o := range objects {
			if _, on := l.lockOf(o); on != network {
				continue
			}
			if l.refusalFor(network, o.pool.Namespace) == nil {
				l.reserveAddress(o)
				continue
			}
			for _, s := range l.supplies {
				s.Withdraw(o.holderName())
			}
		}
	}
	return []string{network}
}

// notGranted says why a pool may not use its network.
func (l *ledger) notGranted(s *supply) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusalFor(s.spec.Network, s.object.Namespace)
}

// poolsSharing are the other pools of a pool's network that may use it.
func (l *ledger) poolsSharing(of *supply) []*supply {
	return slices.DeleteFunc(l.poolsBeside(of.poolName(), of.spec.Network), func(s *supply) bool { return l.notGranted(s) != nil })
}
