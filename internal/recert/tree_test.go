package recert

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// noMove is a configuration that leaves the addresses alone.
func noMove(extra map[string]any) map[string]any {
	cfg := map[string]any{"ip_change_only": nil, "ip": nil, "machine_network_cidr": nil}
	for k, v := range extra {
		cfg[k] = v
	}
	return cfg
}

func runAt(t testing.TB, w *world, now time.Time) {
	t.Helper()
	if err := New(Ports{Keystore: w, Files: w, Clock: func() time.Time { return now }}).Run(t.Context(), configPath); err != nil {
		t.Fatal(err)
	}
}

func certificateAt(t testing.TB, w *world, key string, n int) *x509.Certificate {
	t.Helper()
	list := certificatesOf(t, worldTexts(t, w)[rules.StoragePrefix+key])
	if len(list) <= n {
		t.Fatalf("%s has %d certificates", key, len(list))
	}
	return list[n]
}

const (
	signerAt = "secrets/openshift-etcd/etcd-signer data/tls.crt"
	peerAt   = "secrets/openshift-etcd/etcd-peer-sno data/tls.crt"
)

func TestExtendExpiration(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	leaf := clustertest.Leaf(t, nil, "p256", "dated")
	b.secret("ns", "dated", map[string]string{"tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM},
		"auth.openshift.io/certificate-not-before", "x", "auth.openshift.io/certificate-not-after", "x")
	before := w.clone()
	now := testTime.Add(100 * time.Hour)
	withConfig(t, w, noMove(map[string]any{"extend_expiration": true}))
	runAt(t, w, now)
	for _, at := range []string{signerAt, peerAt} {
		old, fresh := certificateAt(t, before, at, 0), certificateAt(t, w, at, 0)
		if !fresh.NotBefore.Equal(now) || fresh.NotAfter.Sub(fresh.NotBefore) != old.NotAfter.Sub(old.NotBefore) ||
			!bytes.Equal(old.RawSubjectPublicKeyInfo, fresh.RawSubjectPublicKeyInfo) || !bytes.Equal(old.SubjectKeyId, fresh.SubjectKeyId) {
			t.Errorf("%s: from %s until %s", at, fresh.NotBefore, fresh.NotAfter)
		}
		if old.IsCA != (old.SerialNumber.Cmp(fresh.SerialNumber) == 0) {
			t.Errorf("%s: serial number %s, was %s", at, fresh.SerialNumber, old.SerialNumber)
		}
	}
	if foreign := certificateAt(t, w, "secrets/ns/foreign data/tls.crt", 0); !foreign.NotBefore.Before(now) {
		t.Error("a certificate was signed without the key of its authority")
	}
	texts := worldTexts(t, w)
	for name, want := range map[string]time.Time{"not-before": now, "not-after": now.Add(leaf.Cert.NotAfter.Sub(leaf.Cert.NotBefore))} {
		if got := texts[rules.StoragePrefix+"secrets/ns/dated metadata/annotations/auth.openshift.io/certificate-"+name]; got != want.Format(time.RFC3339) {
			t.Errorf("annotation %s: %s", name, got)
		}
	}
	proved(t, w)
}

// proved demands, later, that everything chains, and that nothing is back that the run replaced.
func proved(t testing.TB, w *world) {
	t.Helper()
	later := New(Ports{Keystore: w, Files: w, Clock: func() time.Time { return testTime.Add(49 * time.Hour) }})
	v, err := later.Verify(t.Context(), configPath)
	if err != nil || !v.OK() || v.Checked < 7 {
		t.Errorf("%v: %d proved, problems %v", err, v.Checked, v.Problems)
	}
}

func TestForceExpire(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, noMove(map[string]any{"force_expire": true}))
	now := testTime.Add(time.Hour)
	runAt(t, w, now)
	for _, at := range []string{signerAt, peerAt} {
		if c := certificateAt(t, w, at, 0); !c.NotAfter.Equal(now) || !c.NotBefore.Before(now) {
			t.Errorf("%s is valid until %s", at, c.NotAfter)
		}
	}
	proved(t, w)
}

// givenKey puts a key and a rule for the signer of etcd into a world.
func givenKey(t testing.TB, w *world, kind string) *clustertest.Pair {
	t.Helper()
	given := clustertest.Authority(t, "whatever", kind)
	w.files["/var/lib/lca/workspace/kubeconfig-crypto/etcd.key"] = fakeFile{[]byte(given.KeyPEM), 0o600}
	return given
}

const etcdKeyRule = "openshift-etcd_etcd-signer@1 /var/lib/lca/workspace/kubeconfig-crypto/etcd.key"

func TestUseKeyRules(t *testing.T) {
	w := newWorld(t)
	before := w.clone()
	given := givenKey(t, w, "rsa")
	withConfig(t, w, noMove(map[string]any{"use_key_rules": []string{etcdKeyRule}}))
	runAt(t, w, testTime)
	signer, peer := certificateAt(t, w, signerAt, 0), certificateAt(t, w, peerAt, 0)
	if !certs.SamePublic(signer.PublicKey, given.Key.Public()) {
		t.Fatal("the authority has not got the key")
	}
	if err := peer.CheckSignatureFrom(signer); err != nil {
		t.Error(err)
	}
	old := certificateAt(t, before, peerAt, 0)
	if !bytes.Equal(old.RawSubjectPublicKeyInfo, peer.RawSubjectPublicKeyInfo) || !peer.NotAfter.Equal(old.NotAfter) {
		t.Error("the leaf got another key or validity")
	}
	if chain := certificateAt(t, w, peerAt, 1); !chain.Equal(signer) {
		t.Error("the chain beside the leaf is another one")
	}
	if key := certs.FirstKey(worldTexts(t, w)[rules.StoragePrefix+"secrets/openshift-etcd/etcd-signer data/tls.key"]); key == nil || !certs.SamePublic(key.Public(), given.Key.Public()) {
		t.Error("the key beside the authority is another one")
	}
	if len(signer.SubjectKeyId) > 0 && (bytes.Equal(signer.SubjectKeyId, certificateAt(t, before, signerAt, 0).SubjectKeyId) || !bytes.Equal(peer.AuthorityKeyId, signer.SubjectKeyId)) {
		t.Error("the key identifiers do not follow the key")
	}
	proved(t, w)
	metrics := "secrets/openshift-etcd/etcd-serving-metrics-sno data/tls.crt"
	if !certificateAt(t, w, metrics, 0).Equal(certificateAt(t, before, metrics, 0)) {
		t.Error("another tree was touched")
	}
}

func TestUseKeyRulesRefuseAKeyOfAnotherKind(t *testing.T) {
	w := newWorld(t)
	givenKey(t, w, "p256")
	withConfig(t, w, noMove(map[string]any{"use_key_rules": []string{etcdKeyRule}}))
	if err := engine(w).Run(t.Context(), configPath); err == nil || !strings.Contains(err.Error(), "of another kind") || w.writes != 1 {
		t.Errorf("%v, wrote %v", err, w.ordered)
	}
}

func TestUseCertRules(t *testing.T) {
	w := newWorld(t)
	now, had := clustertest.Authority(t, "admin-kubeconfig-signer", "p256"), clustertest.Authority(t, "admin-kubeconfig-signer", "p256")
	b := &builder{t: t, w: w}
	b.configMap("openshift-config", "admin-kubeconfig-client-ca", map[string]string{"ca-bundle.crt": "# ours\n" + now.CertPEM})
	b.file("/var/lib/lca/workspace/admin.crt", had.CertPEM)
	withConfig(t, w, noMove(map[string]any{"use_cert_rules": []string{"/var/lib/lca/workspace/admin.crt"}}))
	runAt(t, w, testTime)
	if got := worldTexts(t, w)[rules.StoragePrefix+"configmaps/openshift-config/admin-kubeconfig-client-ca data/ca-bundle.crt"]; got != "# ours\n"+had.CertPEM {
		t.Errorf("got %s", got)
	}
	withConfig(t, w, noMove(map[string]any{"use_cert_rules": []string{clustertest.Authority(t, "openshift-etcd_etcd-signer@1", "rsa").CertPEM}}))
	if err := engine(w).Run(t.Context(), configPath); !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "are signed by it") {
		t.Errorf("an authority with signees was replaced: %v", err)
	}
}

func TestNamesOfCertificatesAreReplaced(t *testing.T) {
	w := newWorld(t)
	withConfig(t, w, noMove(map[string]any{"cn_san_replace_rules": []string{"system:etcd-peer:sno,system:etcd-peer:edge", "localhost,localhost.localdomain",
		"openshift-etcd_etcd-signer@1,openshift-etcd_etcd-signer@2"}}))
	runAt(t, w, testTime)
	signer, peer := certificateAt(t, w, signerAt, 0), certificateAt(t, w, peerAt, 0)
	if peer.Subject.CommonName != "system:etcd-peer:edge" || peer.DNSNames[0] != "localhost.localdomain" || signer.Subject.CommonName != "openshift-etcd_etcd-signer@2" {
		t.Errorf("%s %v issued by %s", peer.Subject, peer.DNSNames, signer.Subject)
	}
	if err := peer.CheckSignatureFrom(signer); err != nil {
		t.Error(err)
	}
	proved(t, w)
}

func TestPostprocessOnlyLeavesCertificatesAlone(t *testing.T) {
	w := newWorld(t)
	before := w.clone()
	withConfig(t, w, map[string]any{"postprocess_only": true})
	runRecert(t, w)
	if !certificateAt(t, w, peerAt, 0).Equal(certificateAt(t, before, peerAt, 0)) || w.member.PeerURLs[0] != "https://"+newV4+":2380" {
		t.Error("certificates changed, or nothing else did")
	}
}

// Keys, validity and names cannot be told from the data, so the record of the first run has to carry the second.
func TestEveryCrashOfATreeIsCompletedByTheNextRun(t *testing.T) {
	for name, extra := range map[string]map[string]any{
		"extend":    {"extend_expiration": true},
		"force":     {"force_expire": true},
		"key":       {"use_key_rules": []string{etcdKeyRule}},
		"names":     {"cn_san_replace_rules": []string{"system:etcd-peer:sno,x", "metric-signer,metric-signer-2"}},
		"all of it": {"ip": []string{newV4}, "extend_expiration": true, "use_key_rules": []string{etcdKeyRule}, "cn_san_replace_rules": []string{oldV4 + "," + newV4, "metric-signer,m"}},
	} {
		t.Run(name, func(t *testing.T) {
			start := newWorld(t)
			givenKey(t, start, "rsa")
			withConfig(t, start, noMove(extra))
			whole := start.clone()
			runAt(t, whole, testTime)
			want := worldTexts(t, whole)
			flowtest.Points(t, whole.writes, func(t *testing.T, cut int) {
				w := cutAfter(t, start, cut)
				later := testTime
				if cut > 0 && extra["ip"] == nil { // later, the record tells when it began
					later = testTime.Add(time.Hour)
				}
				runAt(t, w, later)
				compareWorlds(t, fmt.Sprintf("cut after %d writes", cut), worldTexts(t, w), want)
				requireAtRest(t, w, later)
			})
		})
	}
}

func TestSiteSettingsAreWritten(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.secret("openshift-config", "pull-secret", map[string]string{".dockerconfigjson": "seed"})
	b.configMap("openshift-config", "user-ca-bundle", map[string]string{"ca-bundle.crt": "seed"})
	b.configMap("openshift-config", "proxy-ca", map[string]string{"ca-bundle.crt": "seed"})
	b.json("config.openshift.io/proxies/cluster", map[string]any{"kind": "Proxy", "spec": map[string]any{"httpProxy": "seed", "httpsProxy": "seed", "noProxy": "seed", "trustedCA": map[string]any{"name": "x"}},
		"status": map[string]any{"httpProxy": "seed", "httpsProxy": "seed", "noProxy": "seed"}})
	config := map[string]any{"kind": "MachineConfig", "spec": map[string]any{"config": map[string]any{"storage": map[string]any{"files": []any{
		map[string]any{"path": "/etc/other", "contents": map[string]any{"source": "data:,keep"}},
		map[string]any{"contents": map[string]any{"compression": "", "source": "data:,seed"}, "path": "/var/lib/kubelet/config.json"},
		map[string]any{"path": "/etc/chrony.conf", "contents": map[string]any{"source": "data:;base64,c2VlZA=="}}}}}}}
	b.json("machineconfiguration.openshift.io/machineconfigs/00-master", config)
	b.file("/etc/machine-config-daemon/currentconfig", mustJSON(config))
	b.file("/var/lib/kubelet/config.json", "seed")
	b.file("/etc/chrony.conf", "seed")
	withConfig(t, w, noMove(map[string]any{"pull_secret": `{"auths":{}}`, "user_ca_bundle": "users", "proxy_trusted_ca_bundle": "proxy-ca:proxies", "chrony_config": "server x",
		"proxy": "http://h|http://hs|no|http://sh|http://shs|sno", "kubeadmin_password_hash": "$2a$new"}))
	runAt(t, w, testTime)
	texts := worldTexts(t, w)
	const mc = rules.StoragePrefix + "machineconfiguration.openshift.io/machineconfigs/00-master spec/config/storage/files/"
	for where, want := range map[string]string{
		rules.StoragePrefix + "secrets/openshift-config/pull-secret data/.dockerconfigjson":   `{"auths":{}}`,
		rules.StoragePrefix + "secrets/kube-system/kubeadmin data/kubeadmin":                  "$2a$new",
		rules.StoragePrefix + "configmaps/openshift-config/user-ca-bundle data/ca-bundle.crt": "users",
		rules.StoragePrefix + "configmaps/openshift-config/proxy-ca data/ca-bundle.crt":       "proxies",
		rules.StoragePrefix + "config.openshift.io/proxies/cluster spec/httpProxy":            "http://h",
		rules.StoragePrefix + "config.openshift.io/proxies/cluster status/noProxy":            "sno",
		rules.StoragePrefix + "config.openshift.io/proxies/cluster spec/trustedCA/name":       "proxy-ca",
		mc + "0/contents/source": "data:,keep", mc + "1/contents/source": "data:,%7B%22auths%22:%7B%7D%7D", mc + "2/contents/source": "data:;base64,c2VydmVyIHg=",
		"/var/lib/kubelet/config.json": `{"auths":{}}`, "/etc/chrony.conf": "server x",
	} {
		if texts[where] != want {
			t.Errorf("%s = %q, want %q", where, texts[where], want)
		}
	}
	if text := texts["/etc/machine-config-daemon/currentconfig"]; !strings.Contains(text, "%7B%22auths") || !strings.Contains(text, "c2VydmVyIHg=") {
		t.Errorf("currentconfig: %s", text)
	}
	if summary := string(w.files[host.RecertSummary].data); strings.Contains(summary, "auths") || strings.Contains(summary, "$2a$new") {
		t.Errorf("the summary shows a secret:\n%s", summary)
	}
	w.writes = 0
	runAt(t, w, testTime)
	if w.writes != 0 {
		t.Errorf("a second run wrote %v", w.ordered)
	}
}

// What etcd cannot start without stands in the way wherever its authority's key is missing, whatever else is asked for.
func TestAnEssentialCertificateThatCannotBeSignedBlocksATree(t *testing.T) {
	for name, extra := range map[string]map[string]any{
		"validity": {"extend_expiration": true},
		"name":     {"cn_san_replace_rules": []string{"some.name,other.name"}},
	} {
		w := newWorld(t)
		delete(w.keys, rules.StoragePrefix+"secrets/openshift-etcd/etcd-signer")
		withConfig(t, w, extra)
		err := engine(w).Run(t.Context(), configPath)
		if !errors.Is(err, ErrBlocked) || w.member.PeerURLs[0] != "https://"+oldV4+":2380" {
			t.Errorf("%s: %v, the member is at %v", name, err, w.member.PeerURLs)
		}
	}
}

func TestAnAddressThatNobodySaysIsRefused(t *testing.T) {
	w := newWorld(t)
	delete(w.keys, rules.StoragePrefix+"minions/sno")
	want := "is at " + oldV4 + ", and no Node says whether " + newV4 + " replaces it: list both in cn_san_replace_rules"
	if err := engine(w).Run(t.Context(), configPath); !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), want) || w.writes != 1 {
		t.Errorf("%v, wrote %v", err, w.ordered)
	}
}

func TestASettingWithoutAPlaceIsRefused(t *testing.T) {
	const given = "/var/lib/lca/workspace/kubeconfig-crypto/etcd.key"
	for name, c := range map[string]struct {
		config map[string]any
		want   string
	}{
		"pull secret": {map[string]any{"pull_secret": "x"}, "pull_secret is written here, and"},
		"proxy CA":    {map[string]any{"proxy_trusted_ca_bundle": "gone:x"}, "has no spec/trustedCA/name"},
		"proxy":       {map[string]any{"proxy": "a|b|c|d|e|f"}, "only a cluster installed behind a proxy"},
		"ssh":         {map[string]any{"regenerate_server_ssh_keys": "/ssh"}, "there are no SSH host keys"},
		"key":         {map[string]any{"use_key_rules": []string{"cn /nowhere"}}, `read the key of "cn"`},
		"kubeadmin":   {map[string]any{"kubeadmin_password_hash": "$2a$x"}, "kubeadmin_password_hash is written here, and"},
		"chrony":      {map[string]any{"chrony_config": "server x"}, "chrony_config is written here, and the file does not exist"},
		"installer's": {map[string]any{"install_config": "a: b\n"}, "install_config is written here, and"},
		"whose key":   {map[string]any{"use_key_rules": []string{"nobody " + given}}, `no authority of the cluster has the common name "nobody"`},
		"a leaf's key": {map[string]any{"use_key_rules": []string{"system:etcd-peer:sno " + given}},
			`no authority of the cluster has the common name "system:etcd-peer:sno"`},
		"whose certificate": {map[string]any{"use_cert_rules": []string{clustertest.Authority(t, "nobody", "p256").CertPEM}}, `has the common name "nobody"`},
	} {
		w := newWorld(t)
		givenKey(t, w, "rsa")
		for _, name := range []string{"secrets/kube-system/kubeadmin", "configmaps/kube-system/cluster-config-v1"} {
			delete(w.keys, rules.StoragePrefix+name)
		}
		withConfig(t, w, noMove(c.config))
		if err := engine(w).Run(t.Context(), configPath); err == nil || !strings.Contains(err.Error(), c.want) || w.writes != 1 {
			t.Errorf("%s: %v, wrote %v", name, err, w.ordered)
		}
	}
}

// Clusters that the installer did not make hold no machine networks, and can move all the same.
func TestMachineNetworksWithoutAnInstallConfigAreNoted(t *testing.T) {
	for _, there := range []bool{true, false} {
		w := newWorld(t)
		if !there {
			delete(w.keys, rules.StoragePrefix+rules.InstallConfig)
		}
		plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
		if err != nil || len(plan.Blocked) > 0 {
			t.Fatalf("%v, blocked %v", err, plan.Blocked)
		}
		if noted := strings.Contains(fmt.Sprint(plan.Kept), "{machine_network_cidr has no effect"); noted == there {
			t.Errorf("install-config there: %t, kept %v", there, plan.Kept)
		}
	}
}

func TestServerKeysAreMadeAnew(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	for _, kind := range []string{"rsa", "ecdsa", "ed25519"} {
		b.file("/etc/ssh/ssh_host_"+kind+"_key", "old")
		b.file("/etc/ssh/ssh_host_"+kind+"_key.pub", "old")
	}
	b.file("/etc/ssh/sshd_config", "old")
	withConfig(t, w, noMove(map[string]any{"regenerate_server_ssh_keys": "/ssh"}))
	runAt(t, w, testTime)
	for kind, begins := range map[string]string{"rsa": "ssh-rsa ", "ecdsa": "ecdsa-sha2-nistp256 ", "ed25519": "ssh-ed25519 "} {
		key, public := w.files["/etc/ssh/ssh_host_"+kind+"_key"], w.files["/etc/ssh/ssh_host_"+kind+"_key.pub"]
		signer, err := ssh.ParsePrivateKey(key.data)
		if err != nil || !strings.HasPrefix(string(public.data), begins) || key.mode != 0o600 {
			t.Errorf("%s: %v, public %q", kind, err, public.data)
		} else if !bytes.Equal(ssh.MarshalAuthorizedKey(signer.PublicKey()), public.data) {
			t.Errorf("%s: the public key belongs to another", kind)
		}
	}
	if string(w.files["/etc/ssh/sshd_config"].data) != "old" {
		t.Error("sshd_config was touched")
	}
	again := w.clone()
	runAt(t, again, testTime)
	if again.writes != 0 {
		t.Errorf("a second run wrote %v", again.ordered)
	}
}
