package recert

import (
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// Objects of the aggregated API server are stored in protobuf.
func TestRoutesAndClientsInProtobuf(t *testing.T) {
	text := func(n int, s string) []byte { return field(n, []byte(s)) }
	envelope := func(kind string, raw []byte) []byte {
		return append([]byte("k8s\x00"), append(field(1, append(text(1, "x/v1"), text(2, kind)...)), field(2, raw)...)...)
	}
	make := func(zone string) map[string][]byte {
		return map[string][]byte{
			"/openshift.io/routes/ns/app": envelope("Route", append(append(field(2, append(text(1, "app.apps."+zone), text(2, "/c.example.com")...)),
				field(3, field(1, append(append(text(1, "app.apps."+zone), text(2, "default")...), text(5, "router.apps."+zone)...)))...), text(99, "later")...)),
			"/openshift.io/oauth/clients/console": envelope("OAuthClient", append(text(2, "secret of c.example.com"), text(5, "https://console.apps."+zone+"/auth")...)),
		}
	}
	w := recallWorld(t)
	for key, value := range make("c.example.com") {
		w.keys[key] = host.KeyValue{Key: key, Value: value, ModRevision: 1}
	}
	runRecert(t, w)
	for key, want := range make("d.example.org") {
		if got := w.keys[key].Value; string(got) != string(want) {
			t.Errorf("%s is %q\nwant %q", key, got, want)
		}
	}
}

// field encodes a field of bytes shorter than 128 times 128.
func field(number int, content []byte) []byte {
	out := varint(uint64(number)<<3 | 2)
	return append(append(out, varint(uint64(len(content)))...), content...)
}

func varint(v uint64) (out []byte) {
	for ; v >= 0x80; v >>= 7 {
		out = append(out, byte(v)|0x80)
	}
	return append(out, byte(v))
}

// recallWorld is a cluster c.example.com that is to be called d.example.org.
func recallWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.json(rules.ClusterDNS, map[string]any{"kind": "DNS", "spec": map[string]any{"baseDomain": "c.example.com"}})
	b.json(rules.ClusterInfra, map[string]any{"kind": "Infrastructure", "status": map[string]any{"infrastructureName": "c-abcde"}})
	b.configMap("kube-system", "cluster-config-v1", map[string]string{"install-config": "baseDomain: example.com\nmetadata:\n  name: c\n"})
	b.configMap("openshift-etcd", "cluster-config-v1", map[string]string{"install-config": "baseDomain: example.com\nmetadata:\n  name: c\n"})
	withConfig(t, w, map[string]any{"ip": nil, "machine_network_cidr": nil, "cluster_rename": "d:example.org"})
	return w
}

func TestClusterKeepsItsIdentifierUnlessAskedAndIsListed(t *testing.T) {
	w := recallWorld(t)
	b := &builder{t: t, w: w}
	b.json("config.openshift.io/apiservers/cluster", map[string]any{"spec": map[string]any{"names": []any{"api.c.example.com"}}})
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := plan.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"cluster c.example.com (infrastructure c-abcde) becomes d.example.org (c-abcde)\n",
		"  /kubernetes.io/config.openshift.io/apiservers/cluster spec/names/0: mentions c.example.com\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the plan has no line %q:\n%s", line, out.String())
		}
	}
	runRecert(t, w)
	if text := worldTexts(t, w)[rules.StoragePrefix+"configmaps/kube-system/cluster-config-v1 data/install-config"]; text != "baseDomain: example.org\nmetadata:\n  name: d\n" {
		t.Errorf("install-config: %s", text)
	}
	requireAtRest(t, w, testTime)
}

func TestClusterRenameNeedsTheOldName(t *testing.T) {
	w := recallWorld(t)
	delete(w.keys, rules.StoragePrefix+rules.ClusterDNS)
	if err := engine(w).Run(t.Context(), configPath); err == nil || !strings.Contains(err.Error(), "DNS cluster (spec.baseDomain)") {
		t.Errorf("got %v", err)
	}
}
