package certs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// TestPlainIsEnough: what is taken up without being understood holds nothing that a closer look would find.
func TestPlainIsEnough(t *testing.T) {
	m := mapping(t, oldV4+">"+newV4)
	ca, stranger, marked := clustertest.Authority(t, "ca", "p256"), clustertest.Authority(t, "stranger", "p256"), clustertest.Authority(t, oldV4, "p256")
	other := clustertest.Leaf(t, ca, "p256", "other", "other.example.com")
	for m.MayMatter(other.Cert.Raw) { // some bytes look like an address
		other = clustertest.Leaf(t, ca, "p256", "other", "other.example.com")
	}
	moved := clustertest.Leaf(t, ca, "p256", "moved", oldV4)
	open := strings.TrimSuffix(strings.TrimSpace(other.KeyPEM), "-----")
	escaped := strings.ReplaceAll(other.KeyPEM, "\n", `\n`)
	for _, c := range []struct {
		name, value string
		enough      bool
	}{
		{"a leaf that stays, its authority and its key", "k8s\x00\x0a" + other.CertPEM + ca.CertPEM + "\x12\x07tls.key" + other.KeyPEM, true},
		{"no PEM", "k8s\x00", true},
		{"a leaf that moves", other.CertPEM + moved.CertPEM, false},
		{"an authority seen for the first time", other.CertPEM + stranger.CertPEM, false},
		{"an authority that names the address", marked.CertPEM, false},
		{"what is no certificate", "-----BEGIN CERTIFICATE-----\nAA:A\n-----END CERTIFICATE-----\n", false},
		{"a key without an end, over a leaf", open + moved.CertPEM + other.KeyPEM, false},
		{"another block without an end", "-----BEGIN PUBLIC KEY-----\n" + moved.CertPEM + "-----END PUBLIC KEY-----\n", false},
		{"a key in JSON", `{"kind":"ConfigMap","data":{"tls.key":"` + escaped + `"}}`, true},
		{"a key in JSON with other escapes", `{"kind":"ConfigMap","data":{"tls.key":"` + strings.Replace(escaped, `\nM`, `\n\u004d`, 1) + `"}}`, false},
		{"a bundle", strings.Repeat(ca.CertPEM, bundleSize/len(ca.CertPEM)+1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := NewPKI(m)
			for _, known := range []*clustertest.Pair{ca, marked} {
				p.Collect(Place{Container: "first"}, known.CertPEM, false)
			}
			require.Equal(t, c.enough, p.CollectPlain(&wire.Object{Key: "/x", Value: []byte(c.value)}))
			if !c.enough {
				require.Empty(t, p.Keys, "nothing is taken up unless that is all")
			}
			require.Empty(t, p.Leaves)
			if c.enough && strings.Contains(c.value, ca.CertPEM) {
				require.Equal(t, ca.Cert.Raw, p.cas[string(ca.Cert.RawSubject)][0].Raw)
				require.Equal(t, "/x", p.cas[string(ca.Cert.RawSubject)][0].Places[1].Container, "an authority is known to lie there too")
			}
			if c.enough && strings.Contains(c.value, "tls.key") {
				require.Len(t, p.Keys, 1)
				require.True(t, p.keysIn["/x"][0].belongsTo(other.Cert.PublicKey))
			}
		})
	}
}
