package inspect

import (
	"crypto"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// A cluster has thousands of keys, and tokens of issuers elsewhere come in thousands too: each issuer is looked for once.
func TestTokensOfAnIssuerElsewhereAreTriedOnce(t *testing.T) {
	elsewhere, here := clustertest.NewKey(t, "p256"), clustertest.NewKey(t, "p256")
	s := &Survey{PKI: certs.NewPKI(replace.Mapping{})}
	s.PKI.All = true
	for range 3 {
		s.tokens = append(s.tokens, tokensIn(clustertest.Token(t, elsewhere, jose.ES256, "k")+" "+clustertest.Token(t, here, jose.ES256, ""), "x")...)
	}
	s.PKI.Collect(certs.Place{}, clustertest.PublicPEM(t, here), false)
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
