package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

func FuzzReissueTBS(f *testing.F) {
	leaf := clustertest.Leaf(f, nil, "p256", oldV4, oldV4, "https://"+oldV4+"/x")
	f.Add(leaf.Cert.RawTBSCertificate)
	m := mapping(f, oldV4+">"+newV4)
	f.Fuzz(func(t *testing.T, tbs []byte) {
		cert := *leaf.Cert
		cert.RawTBSCertificate = tbs
		_, _ = rewriteTBS(&cert, change{names: m, authorityKey: []byte("id"), subjectKey: []byte("id"), public: leaf.Cert.RawSubjectPublicKeyInfo}) // must not panic
	})
}

// A leaf that names the new address already names it once afterwards, as an address and as a DNS name.
func TestNamesAreNotRepeated(t *testing.T) {
	ca := clustertest.Authority(t, "ca", "p256")
	leaf := clustertest.Leaf(t, ca, "p256", "leaf", oldV4, newV4, "localhost", "https://"+oldV4+"/", "https://"+newV4+"/")
	fresh, err := reissueCertificate(leaf.Cert, ca.Key, change{names: mapping(t, oldV4+">"+newV4)}, rand.Reader)
	require.NoError(t, err)
	require.Equal(t, "["+newV4+"]", fmt.Sprint(fresh.IPAddresses))
	require.Equal(t, []string{newV4, "localhost"}, fresh.DNSNames)
	require.Len(t, fresh.URIs, 1)
}

// A signature is proved before it is used, whoever made it.
func TestWhatIsSignedIsProved(t *testing.T) {
	m := mapping(t, oldV4+">"+newV4)
	ca, other := clustertest.Authority(t, "ca", "p256"), clustertest.Authority(t, "ca", "p256")
	leaf := clustertest.Leaf(t, ca, "p256", "leaf", oldV4)
	recorded := func(ch change) *x509.Certificate {
		out, err := reissueCertificate(leaf.Cert, ca.Key, ch, rand.Reader)
		require.NoError(t, err)
		return out
	}
	period := &validity{leaf.Cert.NotBefore, leaf.Cert.NotAfter.Add(time.Hour)}
	for want, c := range map[string]struct {
		with     crypto.Signer
		beside   crypto.Signer
		recorded *x509.Certificate
	}{
		"":                                 {with: ca.Key, beside: leaf.Key},
		"does not chain to its issuer":     {with: other.Key},
		"does not match the key beside it": {with: ca.Key, beside: other.Key},
		"does not name " + newV4:           {recorded: recorded(change{})},
		"is for another key":               {recorded: clustertest.Leaf(t, ca, "p256", "leaf", newV4).Cert},
		"has another validity":             {recorded: recorded(change{names: m, validity: period})},
	} {
		work := &Signing{Leaf: &Certificate{Certificate: leaf.Cert, Places: []Place{{Where: "there"}}, Reissued: c.recorded},
			issuer: &Certificate{Certificate: ca.Cert}, with: c.with, beside: c.beside, change: change{names: m}}
		err := SignTogether([]*Signing{work}, rand.Reader)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "there", "the error says which certificate")
	}
}

func TestWhatATreeSignsIsProved(t *testing.T) {
	ca, other := clustertest.Authority(t, "ca", "p256"), clustertest.Authority(t, "ca", "p256")
	leaf := &Certificate{Certificate: clustertest.Leaf(t, ca, "p256", "leaf", oldV4).Cert, Places: []Place{{Where: "there"}}}
	tree := NewTree(config.Config{}, replace.Mapping{}, clustertest.Now(), NewPKI(replace.Mapping{}))
	tree.NewKey = func(*Certificate) (crypto.Signer, error) { return nil, nil }
	tree.IsEssential = func(*Certificate) bool { return false }
	signer := &Certificate{Certificate: ca.Cert, Rekey: other.Key} // the key is not the authority's
	require.ErrorContains(t, tree.reissueSigned(leaf, signer, change{}), "does not chain")
	require.Empty(t, tree.Signed)
}
