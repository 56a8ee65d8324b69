package registry_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/registry"
)

// A certificate that is valid at another time, of an authority that is trusted, is no matter of trust: the clock may be wrong.
func TestACertificateOfAnotherTimeIsToldFromOneThatIsNotTrusted(t *testing.T) {
	for name, from := range map[string]time.Duration{"not valid yet": 48 * time.Hour, "expired": -96 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			require.NoError(t, err)
			begin := time.Now().Add(from)
			template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: begin,
				NotAfter: begin.Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
			der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
			require.NoError(t, err)
			s := httptest.NewUnstartedServer(http.NotFoundHandler())
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
			s.StartTLS()
			t.Cleanup(s.Close)
			bundle := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
			_, err = registry.New(options(t)).Open(t.Context(), host.RegistryAccess{
				Image: strings.TrimPrefix(s.URL, "https://") + "/seed:1", CABundle: bundle})
			require.ErrorIs(t, err, host.ErrRegistryClock)
			require.ErrorIs(t, err, host.ErrRegistryTrust)
		})
	}
	_, err := registry.New(options(t)).Open(t.Context(), host.RegistryAccess{Image: secured(t, http.NotFoundHandler()) + "/seed:1"})
	require.NotErrorIs(t, err, host.ErrRegistryClock)
}

// A registry that is busy says when to ask again.
func TestARegistryIsAskedAgainWhenItSays(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		var asked atomic.Int32
		at := serve(t, broken(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodHead || asked.Add(1) > 1 {
				return false
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(code)
			return true
		}))
		r, err := open(t, at)
		require.NoError(t, err)
		began := time.Now()
		there, err := r.Has(t.Context(), digest(content(1)))
		require.NoError(t, err)
		require.False(t, there)
		require.GreaterOrEqual(t, time.Since(began), time.Second)
		require.EqualValues(t, 2, asked.Load())
	}
}
