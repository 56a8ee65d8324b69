package recert

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// tokenOf signs a service account's token.
func tokenOf(t *testing.T, key crypto.Signer, algorithm jose.SignatureAlgorithm, keyID string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(`{"iss":"kubernetes/serviceaccount"}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func publicPEM(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func TestScanTellsWhoSignedATokenWhereverItIs(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	account, bound, gone := newKeyOf(t, "rsa"), newKeyOf(t, "p256"), newKeyOf(t, "p256")
	b.configMap("ns", "sa-token-signing-certs", map[string]string{"service-account-001.pub": publicPEM(t, account)})
	b.file("/etc/kubernetes/static-pod-resources/bound-service-account-signing-key/service-account.pub", publicPEM(t, bound))
	accountID, boundID := keyFingerprint(account.Public()), keyFingerprint(bound.Public())
	sum, err := hex.DecodeString(accountID)
	if err != nil {
		t.Fatal(err)
	}
	kid := base64.RawURLEncoding.EncodeToString(sum)
	plain, named := tokenOf(t, account, jose.RS256, kid), tokenOf(t, bound, jose.ES256, "a name")
	lost := tokenOf(t, gone, jose.ES256, kid)
	kubeconfig := "users:\n- name: agent\n  user:\n    token: " + named + "\n"
	registry := `{"auths":{"image-registry:5000":{"password":"` + plain + `"},"other":{"password":"` + plain + `.x.y"}}}`
	pull := `{"auths":{"registry.example.com":{"auth": "` + base64.StdEncoding.EncodeToString([]byte("me:"+plain)) + `"}}}`
	b.secret("ns", "account", map[string]string{"token": plain, "eyJ": "eyJ but none", "kubeconfig": kubeconfig, ".dockercfg": registry, "lost": lost,
		".dockerconfigjson": pull})
	b.json("machineconfiguration.openshift.io/machineconfigs/x", map[string]any{"kind": "MachineConfig",
		"source": "data:;base64," + base64.StdEncoding.EncodeToString([]byte(kubeconfig))})
	b.file("/etc/kubernetes/token", plain+"\n")
	b.file("/etc/kubernetes/kubeconfig", kubeconfig)

	inventory, err := engine(w).Scan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	const accountAt = storagePrefix + "secrets/ns/account data/"
	want := map[string]string{accountAt + "token": accountID, accountAt + "kubeconfig": boundID, accountAt + ".dockercfg": accountID, accountAt + "lost": "", accountAt + ".dockerconfigjson": accountID,
		storagePrefix + "machineconfiguration.openshift.io/machineconfigs/x source": boundID, "/etc/kubernetes/token": accountID,
		"/etc/kubernetes/kubeconfig": boundID}
	for _, token := range inventory.Tokens {
		by, ok := want[token.Place]
		if !ok || by != token.SignedBy {
			t.Errorf("a token at %s is signed by %q, want %q", token.Place, token.SignedBy, by)
		}
		delete(want, token.Place)
	}
	for at := range want {
		t.Errorf("the token at %s is not found", at)
	}
	var text bytes.Buffer
	if err := inventory.WriteKeys(&text); err != nil || !strings.Contains(text.String(), "RS256, signed by key "+accountID[:shortPrint]+"\n  at "+accountAt+"token\n") ||
		!strings.Contains(text.String(), "signed by a key that is not in the cluster") || strings.Contains(text.String(), "eyJhb") {
		t.Errorf("%v in\n%s", err, text.String())
	}
}

// A cluster has thousands of keys, and tokens of issuers elsewhere come in thousands too: each issuer is looked for once.
func TestTokensOfAnIssuerElsewhereAreTriedOnce(t *testing.T) {
	elsewhere, here := newKeyOf(t, "p256"), newKeyOf(t, "p256")
	s := &scan{pki: newPKI(Mapping{})}
	s.pki.all = true
	for range 3 {
		s.tokens = append(s.tokens, tokensIn(tokenOf(t, elsewhere, jose.ES256, "k")+" "+tokenOf(t, here, jose.ES256, ""), "x")...)
	}
	s.pki.collect(place{}, publicPEM(t, here), false)
	tries := 0
	s.resolveTokens(func(token Token, key crypto.PublicKey) bool { tries++; return provedBy(token, key) })
	if want := 1 + 3; tries != want {
		t.Errorf("%d signatures were checked, want %d", tries, want)
	}
	for i, token := range s.tokens {
		if (token.SignedBy != "") != (i%2 == 1) {
			t.Errorf("token %d is signed by %q", i, token.SignedBy)
		}
	}
}
