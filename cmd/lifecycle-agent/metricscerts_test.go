package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
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
		pair, err := s.getCertificate(nil)
		require.NoError(t, err)
		return pair.Leaf.DNSNames
	}
	require.Equal(t, []string{"localhost"}, names())
	first, err := s.getCertificate(nil)
	require.NoError(t, err)
	second, err := s.getCertificate(nil)
	require.NoError(t, err)
	require.Same(t, first, second, "it is signed once")

	write("metrics.test")
	require.Equal(t, []string{"metrics.test"}, names())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), []byte("half"), 0o600))
	require.Equal(t, []string{"metrics.test"}, names())
	write("renewed.test")
	require.Equal(t, []string{"renewed.test"}, names())
}

// TestMetricsAreServedOverTLS runs the endpoint as both roles do with --metrics-secure and --metrics-certs.
func TestMetricsAreServedOverTLS(t *testing.T) {
	api := shared.Server(t)
	dir := t.TempDir()
	crt, key, err := certutil.GenerateSelfSignedCertKey("metrics.test", nil, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	toAPI, err := rest.HTTPClientFor(api.Config)
	require.NoError(t, err)
	endpoint, err := server.NewServer(metricsOptions(flags{metrics: "127.0.0.1:0", secureMetrics: true, metricsCerts: dir}), api.Config, toAPI)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- endpoint.Start(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-ended) })
	address := func() string { return endpoint.(interface{ GetBindAddr() string }).GetBindAddr() }
	require.Eventually(t, func() bool { return address() != "" }, 2*time.Minute, 10*time.Millisecond)

	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM(crt))
	get := func(url string, verify *tls.Config) (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		answer, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: verify}}).Do(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	status, err := get("https://"+address()+"/metrics", &tls.Config{RootCAs: trusted, ServerName: "metrics.test"})
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status, "the certificate is right, and a token is missing")
	_, err = get("https://"+address()+"/metrics", &tls.Config{RootCAs: trusted, ServerName: "other.test"})
	require.Error(t, err)
	status, err = get("http://"+address()+"/metrics", nil)
	require.True(t, err != nil || status == http.StatusBadRequest, "without TLS nothing is served")
}
