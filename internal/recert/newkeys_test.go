package recert

import (
	"crypto/rsa"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

const (
	keylessCert = "secrets/ns/keyless data/tls.crt"
	keylessKey  = rules.StoragePrefix + "secrets/ns/keyless data/tls.key"
	keylessDir  = "/etc/kubernetes/keyless/"
)

// keylessWorld has a leaf on the old address whose key is nowhere: its places in a Secret and in a file are empty. A copy of the
// certificate lies in a bundle. Beside it are leaves whose key is elsewhere, encrypted, or has no place.
func keylessWorld(t *testing.T, kind string) *world {
	t.Helper()
	w := newWorld(t)
	b := &builder{t: t, w: w}
	ca := clustertest.Authority(t, "keyless-signer", "rsa")
	b.secret("ns", "keyless-signer", map[string]string{"tls.crt": ca.CertPEM, "tls.key": ca.KeyPEM})
	leaf := clustertest.Leaf(t, ca, kind, "keyless", oldV4)
	b.secret("ns", "keyless", map[string]string{"tls.crt": leaf.CertPEM + ca.CertPEM, "tls.key": ""})
	b.configMap("a-first", "bundle", map[string]string{"ca.crt": leaf.CertPEM})
	b.file("/etc/kubernetes/a-bundle.crt", leaf.CertPEM)
	b.file(keylessDir+"tls.crt", leaf.CertPEM)
	b.file(keylessDir+"tls.key", "\n")
	elsewhere := clustertest.Leaf(t, ca, kind, "elsewhere", oldV4)
	b.secret("ns", "elsewhere", map[string]string{"tls.crt": elsewhere.CertPEM, "tls.key": ""})
	b.secret("ns", "its-key", map[string]string{"key": elsewhere.KeyPEM})
	locked := clustertest.Leaf(t, ca, kind, "locked", oldV4)
	b.secret("ns", "locked", map[string]string{"tls.crt": locked.CertPEM, "tls.key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"})
	b.configMap("ns", "trusted", map[string]string{"remote.crt": clustertest.Leaf(t, ca, kind, "remote", oldV4).CertPEM})
	return w
}

func TestALeafWithoutItsKeyGetsANewOne(t *testing.T) {
	for _, kind := range []string{"p256", "p384", "ed25519", "rsa"} {
		t.Run(kind, func(t *testing.T) {
			w := keylessWorld(t, kind)
			before := w.clone()
			runRecert(t, w)
			checkKeyless(t, before, w)
			for _, name := range []string{"elsewhere", "locked"} {
				at := "secrets/ns/" + name + " data/tls.crt"
				if was, is := certificateAt(t, before, at, 0), certificateAt(t, w, at, 0); is.Equal(was) || !certs.SamePublic(was.PublicKey, is.PublicKey) {
					t.Errorf("%s: was not signed again, or for another key", name)
				}
			}
		})
	}
}

// checkKeyless demands a pair of the same new key in every place.
func checkKeyless(t *testing.T, before, w *world) {
	t.Helper()
	was, is, texts := certificateAt(t, before, keylessCert, 0), certificateAt(t, w, keylessCert, 0), worldTexts(t, w)
	key := certs.FirstKey(texts[keylessKey])
	switch {
	case key == nil || !certs.SamePublic(key.Public(), is.PublicKey):
		t.Fatalf("the Secret has no pair: %q", texts[keylessKey])
	case certs.SamePublic(is.PublicKey, was.PublicKey):
		t.Error("the key is the old one")
	case certs.KeyAlgorithm(key.Public()) == "RSA" && key.(*rsa.PrivateKey).N.BitLen() != 2048:
		t.Error("the key has another size")
	case texts[keylessDir+"tls.key"] != texts[keylessKey]:
		t.Error("the file has another key")
	}
	if err := is.CheckSignatureFrom(certificateAt(t, w, keylessCert, 1)); err != nil {
		t.Error(err)
	}
	for _, at := range []string{keylessDir + "tls.crt", "/etc/kubernetes/a-bundle.crt", rules.StoragePrefix + "configmaps/a-first/bundle data/ca.crt"} {
		if list := certificatesOf(t, texts[at]); len(list) != 1 || !list[0].Equal(is) {
			t.Errorf("%s has another certificate", at)
		}
	}
}

func TestNewKeySurvivesACrashAtEveryStep(t *testing.T) {
	for name, extra := range map[string]map[string]any{"move": {}, "extend": {"extend_expiration": true, "ip_change_only": nil}} {
		t.Run(name, func(t *testing.T) {
			start := keylessWorld(t, "p256")
			withConfig(t, start, extra)
			whole := start.clone()
			runRecert(t, whole)
			flowtest.Points(t, whole.writes, func(t *testing.T, cut int) {
				w := cutAfter(t, start, cut)
				runRecert(t, w)
				checkKeyless(t, start, w)
				requireAtRest(t, w, testTime)
			})
		})
	}
}

func TestThePlanSaysThatAKeyIsNew(t *testing.T) {
	w := keylessWorld(t, "p256")
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := plan.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  CN=keyless,O=system:etcd-peers\n", "with a NEW KEY", "  new key     " + keylessKey, "  new key     " + keylessDir + "tls.key"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plan has no %q:\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "NEW KEY"); n != 1 {
		t.Errorf("%d new keys", n)
	}
	runRecert(t, w)
	for _, p := range []string{host.RecertSummary, config.RecordPath(configPath)} {
		if text := string(w.files[p].data); strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s holds a key", p)
		}
	}
}
