package recert

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

func engine(w *world) *Engine {
	return New(Ports{Keystore: w, Files: w, Clock: func() time.Time { return testTime }})
}

func runRecert(t testing.TB, w *world) {
	t.Helper()
	if err := engine(w).Run(context.Background(), configPath); err != nil {
		t.Fatal(err)
	}
}

func withConfig(t testing.TB, w *world, extra map[string]any) {
	(&builder{t: t, w: w}).config(extra)
}

// worldTexts shows everything readable in the world: files, and the texts of objects, by location.
func worldTexts(t testing.TB, w *world) map[string]string {
	t.Helper()
	out := map[string]string{"member": strings.Join(w.member.PeerURLs, ",")}
	for p, f := range w.files {
		if p != configPath && p != host.RecertSummary && p != config.RecordPath(configPath) {
			out[p] = string(f.data)
		}
	}
	for k, kv := range w.keys {
		o, err := wire.NewObject(kv)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Walk(func(at []string, text string) { out[k+" "+strings.Join(at, "/")] = text }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func certificatesOf(t testing.TB, text string) []*x509.Certificate {
	t.Helper()
	var out []*x509.Certificate
	wire.EditBlobs(text, func(b wire.Blob) []byte {
		if b.Kind == wire.CertificateBlob {
			cert, err := x509.ParseCertificate(b.DER())
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, cert)
		}
		return nil
	})
	return out
}

// stays lists what may keep an old address: reported, not touched.
var stays = []string{
	rules.StoragePrefix + "configmaps/ns/user data/note",
	rules.StoragePrefix + "configmaps/openshift-etcd/etcd-scripts data/other",
	rules.StoragePrefix + "config.openshift.io/proxies/cluster status/noProxy",
	rules.StoragePrefix + "machineconfiguration.openshift.io/machineconfigs/50-master-dnsmasq-configuration spec/config/storage/files/0/contents/source",
	"/etc/kubernetes/unrelated",
}

func TestRunMovesTheCluster(t *testing.T) {
	before := newWorld(t)
	w := before.clone()
	runRecert(t, w)
	m := mapping(t, oldV4+">"+newV4, oldV6+">"+newV6)
	after, original := worldTexts(t, w), worldTexts(t, before)
	allowed := map[string]bool{}
	for _, s := range stays {
		allowed[s] = true
	}
	for where, text := range after {
		if len(m.Mentions(text)) > 0 && !allowed[where] {
			t.Errorf("%s still mentions an old address: %s", where, text)
		}
		for _, cert := range certificatesOf(t, text) {
			if slices.ContainsFunc(certs.NamesOf(cert), func(name string) bool { _, old := m.Name(name); return old }) && !strings.Contains(where, "ns/foreign") && !strings.Contains(where, "kubelet/pods") {
				t.Errorf("%s: certificate of %s still names an old address", where, cert.Subject)
			}
		}
	}
	for where, text := range original {
		if strings.Count(text, lookalike) != strings.Count(after[where], lookalike) && after[where] != "" {
			t.Errorf("%s: the neighbour's address was touched", where)
		}
	}
	for where, want := range map[string]string{
		"member": "https://" + newV4 + ":2380",
		rules.StoragePrefix + "secrets/openshift-etcd/etcd-peer-sno metadata/annotations/auth.openshift.io/certificate-hostnames": "127.0.0.1," + newV4 + "," + newV6 + ",::1,localhost",
		rules.StoragePrefix + "configmaps/kube-system/cluster-config-v1 data/install-config":                                      "networking:\n  machineNetwork:\n  - cidr: 198.51.100.0/24 # ours\n  - cidr: 2001:db8:77::/64\n",
		rules.StoragePrefix + "deployments/openshift-oauth-apiserver/apiserver spec/template/spec/containers/0/args/0":            "exec oauth-apiserver start \\\n  --etcd-servers=https://" + newV4 + ":2379 \\\n  --v=2",
		rules.StoragePrefix + "config.openshift.io/clusterversions/version status/conditions/1/status":                            "False",
		rules.StoragePrefix + "config.openshift.io/clusterversions/version status/conditions/0/status":                            "False",
		rules.StoragePrefix + "config.openshift.io/clusterversions/version status/conditions/0/message":                           "Cluster version is 4.22.0",
		rules.StoragePrefix + "secrets/kube-system/kubeadmin data/kubeadmin":                                                      "hash",
		rules.StoragePrefix + "services/endpoints/ns/by-hand subsets/0/addresses/0/ip":                                            newV4,
		rules.StoragePrefix + "minions/sno status/addresses/2/address":                                                            newV4,
		rules.StoragePrefix + "minions/sno metadata/labels/rack":                                                                  "7",
	} {
		if after[where] != want {
			t.Errorf("%s = %q, want %q", where, after[where], want)
		}
	}
	for _, gone := range []string{"pods/ns/owned", "pods/openshift-etcd/etcd-sno", "leases/kube-node-lease/sno",
		"services/endpoints/default/kubernetes", "services/endpoints/ns/managed", "endpointslices/default/kubernetes", "endpointslices/ns/managed"} {
		if _, ok := w.keys[rules.StoragePrefix+gone]; ok {
			t.Errorf("%s is still there", gone)
		}
	}
	for _, kept := range []string{"pods/ns/bare", "endpointslices/ns/by-hand"} {
		if _, ok := w.keys[rules.StoragePrefix+kept]; !ok {
			t.Errorf("%s is gone", kept)
		}
	}
}

func TestRunKeepsAuthoritiesKeysAndOtherBytes(t *testing.T) {
	before := newWorld(t)
	w := before.clone()
	runRecert(t, w)
	plan, err := engine(before).Plan(t.Context(), mustConfig(t, before))
	if err != nil {
		t.Fatal(err)
	}
	touched := map[string]bool{host.RecertSummary: true}
	for _, c := range plan.Changes {
		touched[strings.Fields(c.Where)[0]] = true
	}
	for k, kv := range before.keys {
		if now, ok := w.keys[k]; !touched[k] && (!ok || !bytes.Equal(now.Value, kv.Value) || now.ModRevision != kv.ModRevision) {
			t.Errorf("%s is not in the plan and changed", k)
		}
	}
	for p, f := range before.files {
		if !touched[p] && !bytes.Equal(w.files[p].data, f.data) || w.files[p].mode != f.mode {
			t.Errorf("%s is not in the plan and changed", p)
		}
	}
	old, fresh := blobsOf(t, before), blobsOf(t, w)
	for sum, b := range old {
		cert, isCert := b.(*x509.Certificate)
		if _, ok := fresh[sum]; !ok && (!isCert || cert.IsCA) {
			t.Errorf("a key or an authority is gone")
		}
	}
}

// blobsOf collects certificates and keys by hash.
func blobsOf(t testing.TB, w *world) map[[32]byte]any {
	out := map[[32]byte]any{}
	for where, text := range worldTexts(t, w) {
		wire.EditBlobs(text, func(b wire.Blob) []byte {
			if b.Kind == wire.CertificateBlob {
				out[sha256.Sum256(b.DER())], _ = x509.ParseCertificate(b.DER())
			} else {
				out[sha256.Sum256(b.DER())] = where
			}
			return nil
		})
	}
	return out
}

func mustConfig(t testing.TB, w *world) config.Config {
	t.Helper()
	cfg, err := config.Parse(w.files[configPath].data)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestReissuedCertificatesDifferOnlyInNames(t *testing.T) {
	before := newWorld(t)
	w := before.clone()
	runRecert(t, w)
	key := rules.StoragePrefix + "secrets/openshift-etcd/etcd-peer-sno data/tls.crt"
	old, fresh := certificatesOf(t, worldTexts(t, before)[key]), certificatesOf(t, worldTexts(t, w)[key])
	if len(old) != 2 || len(fresh) != 2 || !old[1].Equal(fresh[1]) {
		t.Fatal("the chain is not what it was")
	}
	if err := fresh[0].CheckSignatureFrom(fresh[1]); err != nil {
		t.Error(err)
	}
	a, b := old[0], fresh[0]
	if a.SerialNumber.Cmp(b.SerialNumber) == 0 {
		t.Error("the serial number was used twice")
	}
	if !bytes.Equal(a.RawSubjectPublicKeyInfo, b.RawSubjectPublicKeyInfo) || !bytes.Equal(a.RawSubject, b.RawSubject) ||
		!a.NotAfter.Equal(b.NotAfter) || !a.NotBefore.Equal(b.NotBefore) || a.SignatureAlgorithm != b.SignatureAlgorithm {
		t.Error("something else changed")
	}
	if len(a.Extensions) != len(b.Extensions) {
		t.Fatalf("%d extensions became %d", len(a.Extensions), len(b.Extensions))
	}
	for i, e := range a.Extensions {
		if f := b.Extensions[i]; !e.Id.Equal(f.Id) || e.Critical != f.Critical || (!e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) && !bytes.Equal(e.Value, f.Value)) {
			t.Errorf("extension %s changed", e.Id)
		}
	}
	if got := fmt.Sprint(b.IPAddresses); got != "[127.0.0.1 ::1 "+newV4+" "+newV6+" "+lookalike+"]" {
		t.Errorf("addresses %s", got)
	}
	if got := strings.Join(b.DNSNames, " "); got != "localhost 127.0.0.1 ::1 "+newV4+" "+newV6+" "+lookalike {
		t.Errorf("DNS names %s", got)
	}
	self := rules.StoragePrefix + "secrets/ns/self-signed data/tls.crt"
	cert := certificatesOf(t, worldTexts(t, w)[self])[0]
	if err := cert.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature); err != nil || cert.Subject.CommonName != newV4 || cert.Issuer.CommonName != newV4 {
		t.Errorf("self-signed: %v %s %s", err, cert.Subject, cert.Issuer)
	}
	if trusted := certificatesOf(t, worldTexts(t, w)[rules.StoragePrefix+"configmaps/ns/trusts-self-signed data/ca.crt"])[0]; !trusted.Equal(cert) {
		t.Error("whoever trusts the self-signed certificate does not any more")
	}
	ed := worldTexts(t, w)[rules.StoragePrefix+"secrets/ns/ed-leaf data/tls.crt"]
	if c := certificatesOf(t, ed)[0]; c.URIs[0].String() != "https://"+newV4+":8443/x" || !strings.Contains(ed, "\r\n") || strings.Count(ed, "\n") != strings.Count(ed, "\r\n") {
		t.Errorf("%s in %q", c.URIs, ed)
	}
}

func TestPlanTellsEverythingAndNoSecret(t *testing.T) {
	w := newWorld(t)
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if w.writes != 0 {
		t.Fatalf("planning wrote %v", w.ordered)
	}
	for name, list := range map[string][]inspect.Note{"foreign": plan.Kept, "ns/bare": plan.Kept, "proxies": plan.Leftovers, "50-master-dnsmasq": plan.Leftovers, "configmaps/ns/user": plan.Leftovers, "/etc/kubernetes/unrelated": plan.Leftovers} {
		if !strings.Contains(fmt.Sprint(list), name) {
			t.Errorf("%s is not reported in %v", name, list)
		}
	}
	if len(plan.Certificates) != 7 || len(plan.Blocked) != 0 {
		t.Errorf("%d certificates, blocked %v", len(plan.Certificates), plan.Blocked)
	}
	var text bytes.Buffer
	if err := plan.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	asYAML, _ := yaml.Marshal(plan)
	asJSON, _ := json.Marshal(plan)
	for _, out := range []string{text.String(), string(asYAML), string(asJSON)} {
		for _, secret := range []string{"PRIVATE KEY", "hash", "BEGIN"} {
			if strings.Contains(out, secret) {
				t.Errorf("the plan shows %q", secret)
			}
		}
		if !strings.Contains(out, newV6) || !strings.Contains(out, "etcd-peer-sno") {
			t.Errorf("the plan lacks something:\n%s", out)
		}
	}
}

func TestRunRefusesWithoutTheSignerOfEtcd(t *testing.T) {
	w := newWorld(t)
	delete(w.keys, rules.StoragePrefix+"secrets/openshift-etcd/etcd-signer")
	err := engine(w).Run(t.Context(), configPath)
	if !errors.Is(err, ErrBlocked) {
		t.Fatalf("got %v", err)
	}
	if len(w.ordered) != 1 || w.ordered[0] != host.RecertSummary {
		t.Fatalf("a refused run wrote %v", w.ordered)
	}
}

// TestKubeletCertificateIsSignedByThePresentSigner: the one that signed it has rotated away, and its key with it.
func TestKubeletCertificateIsSignedByThePresentSigner(t *testing.T) {
	for name, present := range map[string]string{"of the same kind": "p256", "of another kind": "rsa"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			signer := clustertest.Authority(t, "kube-csr-signer_@2", present)
			(&builder{t: t, w: w}).secret("openshift-kube-controller-manager-operator", "csr-signer",
				map[string]string{"tls.crt": signer.CertPEM, "tls.key": signer.KeyPEM})
			const file = "/var/lib/kubelet/pki/kubelet-server-2026-05-01.pem"
			runRecert(t, w)
			block, _ := pem.Decode(w.files[file].data)
			cert, err := x509.ParseCertificate(block.Bytes)
			require.NoError(t, err)
			require.Equal(t, "kube-csr-signer_@2", cert.Issuer.CommonName)
			authority, _ := pem.Decode([]byte(signer.CertPEM))
			by, err := x509.ParseCertificate(authority.Bytes)
			require.NoError(t, err)
			require.NoError(t, cert.CheckSignatureFrom(by))
			require.NoError(t, cert.VerifyHostname(newV4))
			requireAtRest(t, w, testTime)
		})
	}
}

func TestKubeletCertificateIsLeftToItsCSRWithoutTheSigner(t *testing.T) {
	w := newWorld(t)
	delete(w.keys, rules.StoragePrefix+"secrets/openshift-kube-controller-manager-operator/csr-signer")
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(fmt.Sprint(plan.Kept), "kubelet-server-2026-05-01.pem the kubelet requests a new one by CSR") {
		t.Errorf("kept: %v", plan.Kept)
	}
}

// twoMembers is a store of a cluster that has more than one node's etcd.
type twoMembers struct{ *world }

func (s twoMembers) Open(context.Context) (host.OpenKeystore, error) { return s, nil }

func (s twoMembers) Members(context.Context) ([]host.StoreMember, error) {
	return []host.StoreMember{s.member, {ID: 2, Name: "other", PeerURLs: []string{"https://192.0.2.3:2380"}}}, nil
}

func TestAClusterOfTwoMembersIsRefused(t *testing.T) {
	w := newWorld(t)
	err := New(Ports{Keystore: twoMembers{w}, Files: w, Clock: func() time.Time { return testTime }}).Run(t.Context(), configPath)
	if err == nil || !strings.Contains(err.Error(), "etcd has 2 members: only a single-node cluster can be moved") || w.writes != 1 {
		t.Errorf("%v, wrote %v", err, w.ordered)
	}
}

// What cert-manager is asked for changes with the certificate that it issued, or it would issue one with the old address.
func TestCertManagerIsAskedForTheNewAddress(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.json("cert-manager.io/certificates/ns/app", map[string]any{"kind": "Certificate", "spec": map[string]any{"commonName": oldV4,
		"dnsNames": []string{"app.example.com", oldV4, lookalike}, "ipAddresses": []string{oldV4, oldV6, lookalike}, "uris": []string{"https://" + oldV4 + "/x"}}})
	owned := map[string]any{"ownerReferences": []any{map[string]any{"kind": "Certificate", "name": "app"}}}
	b.json("cert-manager.io/certificaterequests/ns/app-1", map[string]any{"kind": "CertificateRequest", "metadata": owned})
	b.json("cert-manager.io/certificaterequests/ns/by-hand", map[string]any{"kind": "CertificateRequest", "metadata": map[string]any{"name": "by-hand"}})
	runRecert(t, w)
	texts := worldTexts(t, w)
	const spec = rules.StoragePrefix + "cert-manager.io/certificates/ns/app spec/"
	for where, want := range map[string]string{"commonName": newV4, "dnsNames/0": "app.example.com", "dnsNames/1": newV4, "dnsNames/2": lookalike,
		"ipAddresses/0": newV4, "ipAddresses/1": newV6, "ipAddresses/2": lookalike, "uris/0": "https://" + newV4 + "/x"} {
		if texts[spec+where] != want {
			t.Errorf("%s is %q, want %q", where, texts[spec+where], want)
		}
	}
	for name, stays := range map[string]bool{"app-1": false, "by-hand": true} {
		if _, ok := w.keys[rules.StoragePrefix+"cert-manager.io/certificaterequests/ns/"+name]; ok != stays {
			t.Errorf("request %s is there: %t", name, ok)
		}
	}
	requireAtRest(t, w, testTime)
}
