package recert

import (
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

func TestNodeWords(t *testing.T) {
	n := Renaming{"sno-1", "b.example.com"}
	for text, want := range map[string]string{
		"etcd-peer-sno-1.crt":                       "etcd-peer-b.example.com.crt",
		"x=/a/etcd-serving-metrics-sno-1.key.":      "x=/a/etcd-serving-metrics-b.example.com.key.",
		"etcd-serving-sno-1, etcd-peer-sno-1.":      "etcd-serving-b.example.com, etcd-peer-b.example.com.",
		"${NODE_sno_1_IP} $NODE_sno_1_ETCD_NAME":    "${NODE_b_example_com_IP} $NODE_b_example_com_ETCD_NAME",
		"etcd-peer-sno-10.crt etcd-peer-sno-1.x":    "",
		"my-etcd-peer-sno-1.crt etcd-peer-sno-1_":   "",
		"NODE_sno_1_2_IP NODE_sno_1_IPS MY_sno_1":   "",
		"the bare sno-1 may be any word: sno-1.crt": "",
	} {
		if want == "" {
			want = text
		}
		if got := n.words(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestNodeNamesInCertificates(t *testing.T) {
	n := Renaming{"sno", "b"}
	for text, want := range map[string]string{"sno": "b", "system:node:sno": "system:node:b", "system:ovn-node:sno": "system:ovn-node:b",
		"system:node:sno2": "", "mysno": "", "sno.example.com": "", "x:sno": "", "system:nosno": ""} {
		if got, ok := n.name(text); ok != (want != "") || ok && got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// A node whose name is an ordinary word does not take that word out of etcd's manifest.
func TestANodeNamedEtcd(t *testing.T) {
	m := Mapping{}.withNames(nil, Renaming{"etcd", "b"}, ClusterRenaming{})
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

func TestHostnameNeedsOneOldName(t *testing.T) {
	hostname := map[string]any{"ip": nil, "machine_network_cidr": nil, "hostname": "b"}
	for name, c := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"two nodes": {func(w *world) {
			w.keys[storagePrefix+"minions/other"] = host.KeyValue{Key: storagePrefix + "minions/other", Value: w.keys[storagePrefix+"minions/sno"].Value, ModRevision: 1}
		}, "knows 2 nodes"},
		"nothing": {func(w *world) {
			delete(w.keys, storagePrefix+"minions/sno")
			delete(w.keys, storagePrefix+"secrets/openshift-etcd/etcd-peer-sno")
		}, "says what the node is called now"},
		"the new name is taken": {func(w *world) {
			kv := w.keys[storagePrefix+"secrets/openshift-etcd/etcd-peer-sno"]
			kv.Key = storagePrefix + "secrets/openshift-etcd/etcd-peer-b"
			w.keys[kv.Key] = kv
		}, "etcd-peer-b is there already"},
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
