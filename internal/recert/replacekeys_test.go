package recert

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// strange is a key of a kind that is not replaced.
const strange = "-----BEGIN OPENSSH PRIVATE KEY-----\nc3RyYW5nZQ==\n-----END OPENSSH PRIVATE KEY-----\n"

// theirLogin opens a registry of somebody else.
var theirLogin = base64.StdEncoding.EncodeToString([]byte("robot:planted-login"))

// seedWorld is a made-up cluster with what a seed holds besides: keys of service accounts, their tokens, credentials.
func seedWorld(t *testing.T, extra map[string]any) (w *world, theirs []string) {
	t.Helper()
	w = settle(t, clustertest.Generate(keyring(t), 5, clustertest.Before(5), clustertest.Size{Objects: 12, Bundle: 2}), noMove(extra))
	b := &builder{t: t, w: w}
	account, gone := clustertest.NewKey(t, "rsa"), clustertest.NewKey(t, "p256")
	public := clustertest.PublicPEM(t, account)
	der, err := x509.MarshalPKCS8PrivateKey(account)
	require.NoError(t, err)
	info, err := x509.MarshalPKIXPublicKey(account.Public())
	require.NoError(t, err)
	plain := clustertest.Token(t, account, jose.RS256, keyID(info))
	lost := clustertest.Token(t, gone, jose.ES256, "gone")
	private := clustertest.PEMText("PRIVATE KEY", der)
	b.secret("openshift-kube-apiserver", "bound-service-account-signing-key",
		map[string]string{"service-account.key": private, "service-account.pub": public})
	b.configMap("openshift-kube-apiserver", "sa-token-signing-certs", map[string]string{"service-account-001.pub": public})
	b.file("/etc/kubernetes/static-pod-resources/certs/secrets/account/service-account.key", private)
	b.file("/etc/kubernetes/static-pod-resources/certs/secrets/account/token", plain)
	b.file("/etc/kubernetes/static-pod-resources/certs/configmaps/pub/any-name", public)
	b.file("/etc/kubernetes/cni/net.d/multus.d/multus.kubeconfig", "users:\n- name: m\n  user:\n    token: "+plain+"\n")
	b.secret("ns", "strange", map[string]string{"id_ed25519": strange}, "kubectl.kubernetes.io/last-applied-configuration",
		`{"data":{"tls.key":"`+base64.StdEncoding.EncodeToString([]byte(private))+`"}}`)
	own := base64.StdEncoding.EncodeToString([]byte("serviceaccount:" + plain))
	b.secret("ns", "pulls", map[string]string{
		".dockercfg":        `{"image-registry:5000":{"username":"serviceaccount","password":"` + plain + `","auth":"` + own + `"}}`,
		".dockerconfigjson": `{"auths":{"registry.example.com":{"auth":"` + theirLogin + `","identitytoken":"planted-identity"}}}`,
		"lost":              lost, "alertmanager.yaml.gz": wire.Deflate("token: " + plain + "\n" + private)})
	hidden := clustertest.NewKey(t, "p256")
	hiddenDER, err := x509.MarshalPKCS8PrivateKey(hidden)
	require.NoError(t, err)
	carried := wire.Deflate(`{"auths":{"registry.example.com":{"auth":"` + theirLogin + `"}}} ` + plain + "\n" + clustertest.PEMText("PRIVATE KEY", hiddenDER))
	b.json("machineconfiguration.openshift.io/machineconfigs/own", map[string]any{"kind": "MachineConfig",
		"source": "data:;base64," + base64.StdEncoding.EncodeToString([]byte(carried))})
	b.json("team.example.com/things/ns/custom", map[string]any{"kind": "Thing", "spec": map[string]any{"key": private, "token": plain}})
	route := w.keys[rules.StoragePrefix+"team.example.com/things/ns/custom"]
	route.Key = "/openshift.io/routes/ns/own"
	w.keys[route.Key] = route
	return w, []string{plain, lost, theirLogin, "planted-login", "planted-identity", "c3RyYW5nZQ=="}
}

// privateKeys lists where private keys are, each in one form.
func privateKeys(t *testing.T, w *world) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for where, text := range worldTexts(t, w) {
		wire.EditBlobs(text, func(b wire.Blob) []byte {
			if b.Kind == wire.PrivateKeyBlob {
				key := certs.FirstKey(clustertest.PEMText(b.Label, b.DER()))
				require.NotNil(t, key, where)
				der, err := x509.MarshalPKCS8PrivateKey(key)
				require.NoError(t, err)
				out[string(der)] = append(out[string(der)], where)
			}
			return nil
		})
	}
	return out
}

// requireReplaced says that no old key, token or credential is left, and that what belonged together still does.
func requireReplaced(t *testing.T, before, w *world, theirs []string) {
	t.Helper()
	old, fresh := privateKeys(t, before), privateKeys(t, w)
	require.Greater(t, len(old), 20)
	require.Len(t, fresh, len(old), "keys that were the same stay the same")
	var was, is []string
	for der, places := range old {
		require.NotContains(t, fresh, der, places)
		slices.Sort(places)
		was = append(was, fmt.Sprint(places))
	}
	for _, places := range fresh {
		slices.Sort(places)
		is = append(is, fmt.Sprint(places))
	}
	require.ElementsMatch(t, was, is)
	for k, kv := range w.keys {
		requireNoneOf(t, k, kv.Value, theirs)
	}
	for p, f := range w.files {
		requireNoneOf(t, p, f.data, theirs)
		require.NotContains(t, p, "recert-new-keys", "the keys of the run are removed")
	}
	proved(t, w)
}

func requireNoneOf(t *testing.T, where string, data []byte, theirs []string) {
	t.Helper()
	for _, digits := range strings.FieldsFunc(string(data), func(r rune) bool { return strings.ContainsRune("\",: ", r) }) {
		if plain, err := base64.StdEncoding.DecodeString(digits); err == nil {
			if carried, ok := wire.Inflate(string(plain)); ok {
				requireNoneOf(t, where, []byte(carried), append(theirs, "PRIVATE KEY"))
			}
		}
	}
	if at := bytes.Index(data, []byte("\x1f\x8b\x08")); at >= 0 {
		if carried, ok := wire.Inflate(string(data[at:])); ok || carried != "" {
			requireNoneOf(t, where, []byte(carried), theirs)
		}
	}
	for _, secret := range theirs {
		require.False(t, bytes.Contains(data, []byte(secret)), "%s has %s", where, secret)
		require.False(t, bytes.Contains(data, []byte(base64.StdEncoding.EncodeToString([]byte(secret)))), "%s has %s", where, secret)
	}
}

func TestNewKeysReplaceEveryKeyAndWhatFollows(t *testing.T) {
	before, theirs := seedWorld(t, map[string]any{"new_keys": true, "force_expire": true})
	w := before.clone()
	runRecert(t, w)
	requireReplaced(t, before, w, theirs)

	texts := worldTexts(t, w)
	account := certs.FirstKey(texts[rules.StoragePrefix+"secrets/openshift-kube-apiserver/bound-service-account-signing-key data/service-account.key"])
	public := clustertest.PublicPEM(t, account)
	for _, at := range []string{
		rules.StoragePrefix + "secrets/openshift-kube-apiserver/bound-service-account-signing-key data/service-account.pub",
		rules.StoragePrefix + "configmaps/openshift-kube-apiserver/sa-token-signing-certs data/service-account-001.pub",
		"/etc/kubernetes/static-pod-resources/certs/configmaps/pub/any-name",
	} {
		require.Equal(t, public, texts[at], at)
	}
	info, err := x509.MarshalPKIXPublicKey(account.Public())
	require.NoError(t, err)
	token := texts["/etc/kubernetes/static-pod-resources/certs/secrets/account/token"]
	requireSigned(t, token, account.Public(), keyID(info))
	for _, at := range []string{"/openshift.io/routes/ns/own spec/token", rules.StoragePrefix + "team.example.com/things/ns/custom spec/token"} {
		requireSigned(t, texts[at], account.Public(), keyID(info))
	}
	require.Contains(t, texts["/etc/kubernetes/cni/net.d/multus.d/multus.kubeconfig"], "token: "+token)
	require.Contains(t, texts[rules.StoragePrefix+"secrets/ns/pulls data/.dockercfg"], token)
	require.NotContains(t, texts[rules.StoragePrefix+"secrets/ns/strange data/id_ed25519"], "PRIVATE")
}

func requireSigned(t *testing.T, token string, key crypto.PublicKey, name string) {
	t.Helper()
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	require.NoError(t, err)
	payload, err := signed.Verify(key)
	require.NoError(t, err)
	require.JSONEq(t, `{"iss":"kubernetes/serviceaccount"}`, string(payload))
	require.Equal(t, name, signed.Signatures[0].Header.KeyID)
}

// A certificate keeps the lifetime that its issuer chose, whatever is done to it: only where it begins moves.
func TestReissuedCertificatesKeepTheirLifetimes(t *testing.T) {
	before, _ := seedWorld(t, map[string]any{"new_keys": true, "force_expire": true})
	w := before.clone()
	runRecert(t, w)
	lives := func(w *world) map[string][]string {
		out := map[string][]string{}
		for where, text := range worldTexts(t, w) {
			wire.EditBlobs(text, func(b wire.Blob) []byte {
				if cert, err := x509.ParseCertificate(b.DER()); err == nil && b.Kind == wire.CertificateBlob {
					out[where] = append(out[where], cert.NotAfter.Sub(cert.NotBefore).String())
				}
				return nil
			})
		}
		return out
	}
	was := lives(before)
	require.Equal(t, was, lives(w))
	peer := certificateAt(t, w, peerAt, 0)
	require.False(t, peer.NotAfter.After(testTime), "it has expired")

	withConfig(t, w, noMove(map[string]any{"extend_expiration": true}))
	runRecert(t, w)
	require.Equal(t, was, lives(w))
	require.True(t, certificateAt(t, w, peerAt, 0).NotAfter.After(testTime))
}

func TestNewKeysSurviveACrashAtEveryStep(t *testing.T) {
	start, theirs := seedWorld(t, map[string]any{"new_keys": true, "force_expire": true})
	whole := start.clone()
	runRecert(t, whole)
	const apart = 17 // each run makes every key anew
	flowtest.Points(t, (whole.writes+apart-1)/apart, func(t *testing.T, point int) {
		w := cutAfter(t, start, point*apart)
		runRecert(t, w)
		requireReplaced(t, start, w, theirs)
		requireAtRest(t, w, testTime)
	})
}

func TestNewKeysContradictWhatKeepsThem(t *testing.T) {
	for _, other := range []string{"ip_change_only", "postprocess_only"} {
		_, err := config.Parse([]byte(`{"new_keys": true, "` + other + `": true}`))
		require.ErrorContains(t, err, other)
	}
}

// A leaf of an authority elsewhere gets a key all the same, and the plan says who has to be asked for another certificate.
func TestAForeignLeafIsSignedWithItsOwnKey(t *testing.T) {
	w, _ := seedWorld(t, map[string]any{"new_keys": true})
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	require.NoError(t, err)
	require.Empty(t, plan.Blocked)
	warned := map[string]string{}
	for _, n := range plan.Warnings {
		warned[n.Where] = n.Why
	}
	require.Contains(t, warned[rules.StoragePrefix+"secrets/awkward/foreign data/tls.crt"], "replace it on the node")
	require.Contains(t, warned[rules.StoragePrefix+"secrets/ns/strange data/id_ed25519"], "OPENSSH PRIVATE KEY")
	require.False(t, strings.Contains(fmt.Sprint(plan.Warnings), "PRIVATE KEY-----"))
}
