//go:build lab

package scenario

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
)

// etcdCerts is where a node keeps what etcd and its clients on the node show each other.
const etcdCerts = "/etc/kubernetes/static-pod-resources/etcd-certs"

// etcdServes asks the running etcd for its health at each address, over TLS with the authorities and the certificate that
// the node's own clients have. Its certificate must verify for that very address and name none of the addresses of before.
func etcdServes(ctx context.Context, t *testing.T, l *lab.Lab, at, notAt []netip.Addr) {
	t.Helper()
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(in(ctx, t, l, "cat", etcdCerts+"/configmaps/etcd-all-bundles/server-ca-bundle.crt"))))
	pair := strings.TrimSuffix(in(ctx, t, l, "sh", "-c", "ls "+etcdCerts+"/secrets/etcd-all-certs/etcd-peer-*.crt"), ".crt")
	own, err := tls.X509KeyPair([]byte(in(ctx, t, l, "cat", pair+".crt")), []byte(in(ctx, t, l, "cat", pair+".key")))
	require.NoError(t, err)
	transport := &http.Transport{DialContext: l.Net.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}}
	defer transport.CloseIdleConnections()
	for _, a := range at {
		url := "https://" + net.JoinHostPort(a.String(), "2379") + "/health"
		ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		require.NoError(t, err)
		answer, err := (&http.Client{Transport: transport}).Do(ask)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Contains(t, string(body), `"health":"true"`)
		for _, old := range notAt {
			require.Error(t, answer.TLS.PeerCertificates[0].VerifyHostname(old.String()), "etcd's certificate still names %s", old)
		}
	}
}
