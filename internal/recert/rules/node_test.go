package rules

import (
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// A node whose name is an ordinary word does not take that word out of etcd's manifest.
func TestANodeNamedEtcd(t *testing.T) {
	m := replace.Mapping{}.WithNames(nil, replace.Name{Old: "etcd", New: "b"}, replace.Cluster{})
	pod := "spec:\n  containers:\n  - name: etcd\n    env:\n    - value: \"etcd\"\n      name: NODE_etcd_ETCD_NAME\n    - name: OTHER\n      value: etcd\n"
	want := strings.NewReplacer("value: \"etcd\"", "value: \"b\"", "NODE_etcd", "NODE_b").Replace(pod)
	for range 2 {
		got, err := nodePod(m, pod)
		if err != nil || got != want {
			t.Fatalf("%v, got\n%s", err, got)
		}
		pod = got
	}
}
