package certs

import (
	"crypto/x509"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// A name that was outside before is no reason to keep a certificate: it did not verify anyway.
func TestOnlyANameThatLeavesTheConstraintsCounts(t *testing.T) {
	m := replace.Mapping{}.WithNames(nil, replace.Name{}, replace.Cluster{Zone: replace.Name{Old: "old.example.com", New: "new.example.com"}})
	for constraint, want := range map[string]map[string]string{
		".old.example.com":    {"https://app.old.example.com/x": "https://app.new.example.com/x", "https://old.example.com/x": "", "https://app.example.org/": ""},
		"app.old.example.com": {"https://app.old.example.com/x": "https://app.new.example.com/x", "https://b.old.example.com/x": ""},
		"Example.com":         {"https://app.old.example.com/x": ""},
	} {
		for text, outside := range want {
			u, err := url.Parse(text)
			require.NoError(t, err)
			got := firstOutside(&x509.Certificate{PermittedURIDomains: []string{constraint}}, &x509.Certificate{URIs: []*url.URL{u}}, m)
			require.Equal(t, outside, got, "%s within %s", text, constraint)
		}
	}
}
