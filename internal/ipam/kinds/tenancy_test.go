package kinds

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// A network belongs to the namespace whose pool was created first; only that namespace's pools grant it.
func TestTenancyOfANetwork(t *testing.T) {
	pool := func(namespace, name string, age time.Duration, grant string) *metal3.IPPool {
		p := &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age))}, Spec: metal3.IPPoolSpec{Network: "storage"}}
		if grant != "" {
			p.Annotations = map[string]string{metal3.NetworkGrantAnnotation: grant}
		}
		return p
	}
	for name, c := range map[string]struct {
		pools    []*metal3.IPPool
		admitted []string
		refused  []string
	}{
		"nobody's":             {nil, []string{"a", "b"}, nil},
		"first come":           {[]*metal3.IPPool{pool("b", "p", 1, ""), pool("a", "p", 2, "")}, []string{"a"}, []string{"b", "c"}},
		"granted":              {[]*metal3.IPPool{pool("a", "p", 9, " b , d"), pool("b", "p", 1, "")}, []string{"a", "b", "d"}, []string{"c"}},
		"by a later pool":      {[]*metal3.IPPool{pool("a", "p", 9, ""), pool("a", "q", 1, "b")}, []string{"a", "b"}, []string{"c"}},
		"not by oneself":       {[]*metal3.IPPool{pool("a", "p", 9, ""), pool("b", "p", 1, "b,c")}, []string{"a"}, []string{"b", "c"}},
		"of one age, by names": {[]*metal3.IPPool{pool("b", "p", 1, ""), pool("a", "z", 1, "")}, []string{"a"}, []string{"b"}},
		"of another network":   {[]*metal3.IPPool{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}}}, []string{"b"}, nil},
	} {
		tenancy := TenancyOf("storage", c.pools)
		for _, namespace := range c.admitted {
			require.NoError(t, tenancy.Refusal(namespace), name)
		}
		for _, namespace := range c.refused {
			require.ErrorContains(t, tenancy.Refusal(namespace), "network storage belongs to namespace a, whose pool a/", name)
			require.ErrorContains(t, tenancy.Refusal(namespace), "list "+namespace+" in annotation "+metal3.NetworkGrantAnnotation, name)
		}
	}
}
