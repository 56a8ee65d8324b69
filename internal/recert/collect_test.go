package recert

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlainIsEnough: what is taken up without being understood holds nothing that a closer look would find.
func TestPlainIsEnough(t *testing.T) {
	m := mapping(t, oldV4+">"+newV4)
	ca, stranger, marked := authority(t, "ca", "p256"), authority(t, "stranger", "p256"), authority(t, oldV4, "p256")
	other := leafOf(t, ca, "p256", "other", "other.example.com")
	for m.quick.certificate(other.cert.Raw) { // some bytes look like an address
		other = leafOf(t, ca, "p256", "other", "other.example.com")
	}
	moved := leafOf(t, ca, "p256", "moved", oldV4)
	open := strings.TrimSuffix(strings.TrimSpace(other.keyPEM), "-----")
	escaped := strings.ReplaceAll(other.keyPEM, "\n", `\n`)
	for _, c := range []struct {
		name, value string
		enough      bool
	}{
		{"a leaf that stays, its authority and its key", "k8s\x00\x0a" + other.certPEM + ca.certPEM + "\x12\x07tls.key" + other.keyPEM, true},
		{"no PEM", "k8s\x00", true},
		{"a leaf that moves", other.certPEM + moved.certPEM, false},
		{"an authority seen for the first time", other.certPEM + stranger.certPEM, false},
		{"an authority that names the address", marked.certPEM, false},
		{"what is no certificate", "-----BEGIN CERTIFICATE-----\nAA:A\n-----END CERTIFICATE-----\n", false},
		{"a key without an end, over a leaf", open + moved.certPEM + other.keyPEM, false},
		{"another block without an end", "-----BEGIN PUBLIC KEY-----\n" + moved.certPEM + "-----END PUBLIC KEY-----\n", false},
		{"a key in JSON", `{"kind":"ConfigMap","data":{"tls.key":"` + escaped + `"}}`, true},
		{"a key in JSON with other escapes", `{"kind":"ConfigMap","data":{"tls.key":"` + strings.Replace(escaped, `\nM`, `\n\u004d`, 1) + `"}}`, false},
		{"a bundle", strings.Repeat(ca.certPEM, bundleSize/len(ca.certPEM)+1), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPKI(m)
			for _, known := range []*pair{ca, marked} {
				p.collect(place{container: "first"}, known.certPEM, false)
			}
			require.Equal(t, c.enough, p.collectPlain(&object{key: "/x", value: []byte(c.value)}))
			if !c.enough {
				require.Empty(t, p.keys, "nothing is taken up unless that is all")
			}
			require.Empty(t, p.leaves)
			if c.enough && strings.Contains(c.value, ca.certPEM) {
				require.Equal(t, ca.cert.Raw, p.cas[string(ca.cert.RawSubject)][0].Raw)
				require.Equal(t, "/x", p.cas[string(ca.cert.RawSubject)][0].places[1].container, "an authority is known to lie there too")
			}
			if c.enough && strings.Contains(c.value, "tls.key") {
				require.Len(t, p.keys, 1)
				require.True(t, p.keysIn["/x"][0].belongsTo(other.cert.PublicKey))
			}
		})
	}
}
