package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	certutil "k8s.io/client-go/util/cert"
)

// TestMetricsAreServedWithTheCertificateThatIsThere: none, one that comes later, one half written, one that is renewed.
func TestMetricsAreServedWithTheCertificateThatIsThere(t *testing.T) {
	dir, at := t.TempDir(), time.Unix(1_700_000_000, 0)
	write := func(name string) {
		crt, key, err := certutil.GenerateSelfSignedCertKey(name, nil, nil)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600))
		at = at.Add(time.Minute)
		require.NoError(t, os.Chtimes(filepath.Join(dir, "tls.crt"), at, at))
	}
	s := &servingCertificates{dir: dir}
	names := func() []string {
		pair, err := s.get(nil)
		require.NoError(t, err)
		return pair.Leaf.DNSNames
	}
	require.Equal(t, []string{"localhost"}, names())
	first, err := s.get(nil)
	require.NoError(t, err)
	second, err := s.get(nil)
	require.NoError(t, err)
	require.Same(t, first, second, "it is signed once")

	write("metrics.test")
	require.Equal(t, []string{"metrics.test"}, names())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("half"), 0o600))
	require.Equal(t, []string{"metrics.test"}, names())
	write("renewed.test")
	require.Equal(t, []string{"renewed.test"}, names())
}
