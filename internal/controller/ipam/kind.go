package ipam

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// key names a claim of either kind. Claims of one name but of two kinds are two claims.
type key struct {
	group, kind, namespace, name string
}

func (k key) object() types.NamespacedName {
	return types.NamespacedName{Namespace: k.namespace, Name: k.name}
}

func (k key) String() string { return k.kind + " " + k.namespace + "/" + k.name }

// keyOf is the claim that a lock names.
func keyOf(c *lockv1.ClaimReference) key {
	return key{group: c.APIGroup, kind: c.Kind, namespace: c.Namespace, name: c.Name}
}

// claim is a claim of either kind, as far as both agree.
type claim struct {
	client.Object
	key key
	// pool is where the address is to come from; foreign says that another provider's is meant.
	pool    types.NamespacedName
	foreign bool
	// wrong says why the reference to the pool can not be followed.
	wrong   string
	cluster string
	// address is the name of the address object in status, ready the condition there.
	address    string
	conditions []metav1.Condition
}

// verdict is what status is to say.
type verdict struct {
	address string // name of the address object, empty while there is none
	reason  string
	message string
}

// kind is one of the two kinds of claims.
type kind interface {
	// key names a claim of this kind.
	key(types.NamespacedName) key
	// get reads a claim.
	get(ctx context.Context, from client.Reader, name types.NamespacedName) (*claim, error)
	// each shows the claims that the options leave in. They are the cache's own and not to be changed.
	each(ctx context.Context, from client.Reader, see func(*claim), options ...client.ListOption) error
	// withoutAddress selects the claims whose status names no address.
	withoutAddress() client.MatchingFields
	// finalizers are what may be on a claim of this kind for our sake; the first, if keep, is put there.
	finalizers() (names []string, keep bool)
	// addressName names the address object of a claim.
	addressName(c *claim, pool *metal3.IPPool, lease ipam.Lease) string
	// address makes the address object.
	address(c *claim, name string, pool *metal3.IPPool, lease ipam.Lease) client.Object
	// read tells whose an address object is, and which address.
	read(ctx context.Context, from client.Reader, name types.NamespacedName) (held, error)
	// tell puts a verdict into a copy of the claim.
	tell(c *claim, v verdict, now metav1.Time) client.Object
}

// held is an address object of either kind.
type held struct {
	client.Object
	claim   key
	pool    types.NamespacedName
	address string
}

// finalizersOf are the finalizers of others on a claim.
func foreignFinalizers(c *claim, own []string) []string {
	var out []string
	for _, f := range c.GetFinalizers() {
		mine := false
		for _, o := range own {
			mine = mine || f == o
		}
		if !mine {
			out = append(out, f)
		}
	}
	return out
}

// groupOf is the group of an apiVersion.
func groupOf(apiVersion string) string {
	group, _, versioned := strings.Cut(apiVersion, "/")
	if !versioned {
		return ""
	}
	return group
}

// dashed makes an address part of an object's name.
func dashed(address string) string {
	return strings.TrimRight(strings.NewReplacer(".", "-", ":", "-").Replace(address), "-")
}
