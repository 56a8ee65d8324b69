package recert

import (
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

func TestHostnameNeedsOneOldName(t *testing.T) {
	hostname := map[string]any{"ip": nil, "machine_network_cidr": nil, "hostname": "b"}
	for name, c := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"two nodes": {func(w *world) {
			w.keys[rules.StoragePrefix+"minions/other"] = host.KeyValue{Key: rules.StoragePrefix + "minions/other", Value: w.keys[rules.StoragePrefix+"minions/sno"].Value, ModRevision: 1}
		}, "has 2 nodes"},
		"nothing": {func(w *world) {
			delete(w.keys, rules.StoragePrefix+"minions/sno")
			delete(w.keys, rules.StoragePrefix+"secrets/openshift-etcd/etcd-peer-sno")
		}, "says what the node is called now"},
		"the new name is taken": {func(w *world) {
			kv := w.keys[rules.StoragePrefix+"secrets/openshift-etcd/etcd-peer-sno"]
			kv.Key = rules.StoragePrefix + "secrets/openshift-etcd/etcd-peer-b"
			w.keys[kv.Key] = kv
		}, "etcd-peer-b already exists"},
	} {
		w := newWorld(t)
		withConfig(t, w, hostname)
		c.spoil(w)
		err := engine(w).Run(t.Context(), configPath)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		for _, what := range w.ordered {
			if what != host.RecertSummary {
				t.Errorf("%s: wrote %s", name, what)
			}
		}
	}
}

// Where an earlier change of addresses has deleted the Node, etcd's peer certificate knows its name.
func TestHostnameWithoutANode(t *testing.T) {
	w := newWorld(t)
	runRecert(t, w)
	withConfig(t, w, map[string]any{"ip": nil, "machine_network_cidr": nil, "hostname": "b"})
	runRecert(t, w)
	if cert := certificateAt(t, w, "secrets/openshift-etcd/etcd-peer-b data/tls.crt", 0); cert.Subject.CommonName != "system:etcd-peer:b" {
		t.Errorf("named %s", cert.Subject)
	}
	if _, ok := w.files[res+"etcd-pod-1/secrets/etcd-all-certs/etcd-peer-b.key"]; !ok {
		t.Error("the files of the static pod have their old names")
	}
	requireAtRest(t, w, testTime)
}

func TestPlanOfARename(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, map[string]any{"ip": nil, "machine_network_cidr": nil, "hostname": "b"})
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := plan.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"node sno becomes b\n", "  CN=system:etcd-peer:b,O=system:etcd-peers\n",
		"  rename      /kubernetes.io/secrets/openshift-etcd/etcd-peer-sno: becomes /kubernetes.io/secrets/openshift-etcd/etcd-peer-b\n",
		"  rename      /kubernetes.io/secrets/openshift-etcd/etcd-all-certs data/etcd-peer-sno.crt: becomes data/etcd-peer-b.crt\n",
		"  rename      " + res + "etcd-certs/secrets/etcd-all-certs/etcd-serving-sno.key: becomes " + res + "etcd-certs/secrets/etcd-all-certs/etcd-serving-b.key\n",
		"  delete      /kubernetes.io/minions/sno: the kubelet registers the node again\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the plan has no line %q:\n%s", line, out.String())
		}
	}
}
