package recert

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"

	"github.com/stretchr/testify/require"
)

func TestScanTellsWhoSignedATokenWhereverItIs(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	account, bound, gone := clustertest.NewKey(t, "rsa"), clustertest.NewKey(t, "p256"), clustertest.NewKey(t, "p256")
	b.configMap("ns", "sa-token-signing-certs", map[string]string{"service-account-001.pub": clustertest.PublicPEM(t, account)})
	b.file("/etc/kubernetes/static-pod-resources/bound-service-account-signing-key/service-account.pub", clustertest.PublicPEM(t, bound))
	accountID, boundID := certs.KeyFingerprint(account.Public()), certs.KeyFingerprint(bound.Public())
	sum, err := hex.DecodeString(accountID)
	if err != nil {
		t.Fatal(err)
	}
	kid := base64.RawURLEncoding.EncodeToString(sum)
	plain, named := clustertest.Token(t, account, jose.RS256, kid), clustertest.Token(t, bound, jose.ES256, "a name")
	lost := clustertest.Token(t, gone, jose.ES256, kid)
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
	const accountAt = rules.StoragePrefix + "secrets/ns/account data/"
	want := map[string]string{accountAt + "token": accountID, accountAt + "kubeconfig": boundID, accountAt + ".dockercfg": accountID, accountAt + "lost": "", accountAt + ".dockerconfigjson": accountID,
		rules.StoragePrefix + "machineconfiguration.openshift.io/machineconfigs/x source": boundID, "/etc/kubernetes/token": accountID,
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
	if err := inventory.WriteKeys(&text); err != nil || !strings.Contains(text.String(), "RS256, signed by key "+accountID[:12]+"\n  at "+accountAt+"token\n") ||
		!strings.Contains(text.String(), "signed by a key that is not in the cluster") || strings.Contains(text.String(), "eyJhb") {
		t.Errorf("%v in\n%s", err, text.String())
	}
}

func TestOnlyCredentialsOfRegistriesAreReplaced(t *testing.T) {
	login := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	for text, want := range map[string]string{
		`{"auth": "basic", "password": "of-an-application"}`:         `{"auth": "basic", "password": "of-an-application"}`,
		`{"r.example.com": {"auth": "` + login + `"}}`:               `{"r.example.com": {"auth": "` + placeholderAuth + `"}}`,
		`{"auths": {"r.example.com": {"password": "secret"}}}`:       `{"auths": {"r.example.com": {"password": "placeholder"}}}`,
		`"{\\"auths\\": {\\"r\\": {\\"password\\": \\"secret\\"}}}"`: `"{\\"auths\\": {\\"r\\": {\\"password\\": \\"placeholder\\"}}}"`,
	} {
		require.Equal(t, want, dropRegistryLogins(text))
	}
}
