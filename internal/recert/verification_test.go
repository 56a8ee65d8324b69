package recert

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// explicit names the old addresses, as the flow does, so that the result can be verified after the Node has gone.
func explicit(t testing.TB, w *world) {
	withConfig(t, w, map[string]any{"cn_san_replace_rules": []string{oldV4 + "," + newV4, oldV6 + "," + newV6}})
}

func TestVerifyProvesTheResult(t *testing.T) {
	w := newWorld(t)
	explicit(t, w)
	before, err := engine(w).Verify(t.Context(), configPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range []string{"etcd-peer-sno", "etcd member sno", "etcd-pod.yaml", "kubeapiservers/cluster"} {
		if !strings.Contains(fmt.Sprint(before.Problems), where) {
			t.Errorf("before the change %s is no problem", where)
		}
	}
	runRecert(t, w)
	after, err := engine(w).Verify(t.Context(), configPath)
	if err != nil {
		t.Fatal(err)
	}
	if !after.OK() || after.Checked < 8 {
		t.Errorf("%d proved, problems %v", after.Checked, after.Problems)
	}
	if !strings.Contains(fmt.Sprint(after.Unknown), "ns/foreign") || !strings.Contains(fmt.Sprint(after.Leftovers), "configmaps/ns/user") {
		t.Errorf("unknown %v, leftovers %v", after.Unknown, after.Leftovers)
	}
	var text bytes.Buffer
	if err := after.WriteText(&text); err != nil || !strings.Contains(text.String(), "0 problems") {
		t.Errorf("%v %s", err, text.String())
	}
}

func TestVerifySeesAKeyThatDoesNotFit(t *testing.T) {
	w := newWorld(t)
	other := clustertest.Leaf(t, nil, "p256", "other")
	w.files[res+"etcd-certs/secrets/etcd-all-certs/etcd-peer-sno.key"] = fakeFile{[]byte(other.KeyPEM), 0o600}
	v, err := engine(w).Verify(t.Context(), configPath)
	if err != nil || !strings.Contains(fmt.Sprint(v.Problems), "does not match the key etcd-peer-sno.key") {
		t.Errorf("%v, problems %v", err, v.Problems)
	}
}

// Of a node with two families, a certificate that names one new address is not done.
func TestVerifyDemandsTheNewNamesOfBothFamilies(t *testing.T) {
	w := newWorld(t)
	explicit(t, w)
	runRecert(t, w)
	leaf := clustertest.Leaf(t, etcdSigner(t, w), "p256", "system:etcd-peer:sno", "localhost", newV4)
	b := &builder{t: t, w: w}
	b.secret("openshift-etcd", "etcd-peer-sno", map[string]string{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM})
	v, err := engine(w).Verify(t.Context(), configPath)
	want := "etcd-peer-sno data/tls.crt the certificate does not name the new address " + newV6
	if err != nil || len(v.Problems) != 1 || !strings.HasSuffix(v.Problems[0].Where+" "+v.Problems[0].Why, want) {
		t.Errorf("%v, problems %v", err, v.Problems)
	}
}

func TestVerifyDemandsTheNewNames(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	leaf := clustertest.Leaf(t, nil, "p256", "peer", "sno")
	b.secret("openshift-etcd", "etcd-peer-sno", map[string]string{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM})
	v, err := engine(w).Verify(t.Context(), configPath)
	if err != nil || !strings.Contains(fmt.Sprint(v.Problems), "etcd-peer-sno data/tls.crt the certificate does not name the new address ") {
		t.Errorf("%v, problems %v", err, v.Problems)
	}
}

func TestScanTellsWhoSignedWhom(t *testing.T) {
	w := newWorld(t)
	w.writes = 0
	inventory, err := engine(w).Scan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if w.writes != 0 {
		t.Fatalf("scanning wrote %v", w.ordered)
	}
	byName := map[string]inspect.Found{}
	for _, c := range inventory.Certificates {
		byName[c.Subject] = c
	}
	signer, peer := byName["CN=openshift-etcd_etcd-signer@1"], byName["CN=system:etcd-peer:sno,O=system:etcd-peers"]
	if !signer.Authority || signer.SignedBy != signer.Fingerprint || !signer.HasKey || peer.SignedBy != signer.Fingerprint || len(peer.Places) != 4 {
		t.Errorf("signer %+v\npeer %+v", signer, peer)
	}
	if foreign := byName["CN=foreign,O=system:etcd-peers"]; foreign.SignedBy != "" || foreign.Issuer != "CN=gone" {
		t.Errorf("foreign %+v", foreign)
	}
	text, err := json.Marshal(inventory)
	if err != nil || strings.Contains(string(text), "BEGIN") || len(inventory.Keys) < 8 {
		t.Errorf("%v, %d keys", err, len(inventory.Keys))
	}
}

func TestValuesEncryptedAtRestStopTheRun(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		key := fmt.Sprintf("%ssecrets/ns/sealed-%d", rules.StoragePrefix, i)
		w.keys[key] = host.KeyValue{Key: key, Value: []byte("k8s:enc:aesgcm:v1:1:xxxx"), ModRevision: 1}
	}
	err := engine(w).Run(t.Context(), configPath)
	if !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "secrets 3 stored objects are encrypted at rest") {
		t.Fatalf("got %v", err)
	}
	if len(w.ordered) != 1 || w.ordered[0] != host.RecertSummary {
		t.Fatalf("a refused run wrote %v", w.ordered)
	}
}

// Objects that no rule names are looked into by a scan, whatever their kind and encoding; what says what was is not.
func TestScanNamesMentionsInObjectsOfTheUser(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.json("metal3.io/baremetalhosts/ns/x", map[string]any{"kind": "BareMetalHost", "spec": map[string]any{"bmc": "redfish://" + oldV4}})
	b.object("services/specs/ns/app", &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		Spec: corev1.ServiceSpec{ExternalIPs: []string{oldV4}}})
	b.object("deployments/ns/app", &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "c", Env: []corev1.EnvVar{{Name: "HUB", Value: oldV4}}}}}}}})
	w.keys[rules.StoragePrefix+"example.com/things/ns/broken"] = host.KeyValue{Key: rules.StoragePrefix + "example.com/things/ns/broken",
		Value: []byte(`{"spec": "` + oldV4 + `",`), ModRevision: 1}
	b.json("events/ns/x", map[string]any{"kind": "Event", "message": oldV4})
	b.json("example.com/things/ns/other", map[string]any{"kind": "Thing", "spec": lookalike})
	found, err := engine(w).Scan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint(found.Leftovers)
	for where, listed := range map[string]bool{
		"metal3.io/baremetalhosts/ns/x spec/bmc mentions " + oldV4: true, "services/specs/ns/app mentions " + oldV4: true,
		"deployments/ns/app spec/template/spec/containers/0/env/0/value mentions " + oldV4: true, "things/ns/broken mentions " + oldV4: true, "events/ns/x": false, "things/ns/other": false,
	} {
		if strings.Contains(all, where) != listed {
			t.Errorf("%s is listed: %t; all: %s", where, !listed, all)
		}
	}
}

// What the rules for authorities and validity ask for is proved too: not before a run, and after it.
func TestVerifyProvesTheTrees(t *testing.T) {
	for name, extra := range map[string]map[string]any{
		"end":         {"force_expire": true},
		"key":         {"use_key_rules": []string{etcdKeyRule}},
		"certificate": {"use_cert_rules": []string{"/var/lib/lca/workspace/admin.crt"}},
		"name":        {"cn_san_replace_rules": []string{"openshift-etcd_etcd-signer@1,x"}},
	} {
		w := newWorld(t)
		b := &builder{t: t, w: w}
		givenKey(t, w, "rsa")
		now, had := clustertest.Authority(t, "admin-kubeconfig-signer", "p256"), clustertest.Authority(t, "admin-kubeconfig-signer", "p256")
		b.configMap("openshift-config", "admin-kubeconfig-client-ca", map[string]string{"ca-bundle.crt": now.CertPEM})
		b.file("/var/lib/lca/workspace/admin.crt", had.CertPEM)
		withConfig(t, w, noMove(extra))
		for _, done := range []bool{false, true} {
			v, err := engine(w).Verify(t.Context(), configPath)
			if err != nil || v.OK() != done || strings.Contains(fmt.Sprint(v.Unknown), "_rules") {
				t.Errorf("%s, done %t: %v, problems %v, unknown %v", name, done, err, v.Problems, v.Unknown)
			}
			runRecert(t, w)
		}
	}
}

// The keys of an IP change are wiped when it is done, and then nothing can be said of them.
func TestVerifySaysWhichRulesItCannotProve(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, noMove(map[string]any{"use_key_rules": []string{etcdKeyRule}}))
	v, err := engine(w).Verify(t.Context(), configPath)
	if err != nil || !v.OK() || !strings.Contains(fmt.Sprint(v.Unknown), `use_key_rules: read the key of "openshift-etcd_etcd-signer@1"`) {
		t.Errorf("%v, problems %v, unknown %v", err, v.Problems, v.Unknown)
	}
}

// Whoever checks tokens trusts public keys that stand by themselves, in etcd and on disk.
func TestScanListsPublicKeys(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	signer := clustertest.Authority(t, "sa", "p256")
	der, err := x509.MarshalPKIXPublicKey(signer.Key.Public())
	if err != nil {
		t.Fatal(err)
	}
	text := clustertest.PEMText("PUBLIC KEY", der)
	b.configMap("openshift-kube-apiserver", "bound-sa-token-signing-certs", map[string]string{"service-account-001.pub": text})
	b.file(res+"kube-apiserver-certs/sa.pub", text)
	found, err := engine(w).Scan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	print := certs.KeyFingerprint(signer.Key.Public())
	want := []inspect.Key{{Algorithm: "ECDSA", Fingerprint: print, Places: []string{
		rules.StoragePrefix + "configmaps/openshift-kube-apiserver/bound-sa-token-signing-certs data/service-account-001.pub", res + "kube-apiserver-certs/sa.pub"}}}
	if !reflect.DeepEqual(found.PublicKeys, want) {
		t.Errorf("listed %v, want %v", found.PublicKeys, want)
	}
	var out bytes.Buffer
	if err := found.WriteKeys(&out); err != nil || !strings.Contains(out.String(), "Public keys (1):\n"+print[:12]+"  ECDSA\n  at "+want[0].Places[0]+"\n") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	before := worldTexts(t, w)
	runRecert(t, w)
	if after := worldTexts(t, w); after[want[0].Places[0]] != before[want[0].Places[0]] || after[want[0].Places[1]] != text {
		t.Error("a public key was changed")
	}
}
