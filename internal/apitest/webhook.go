package apitest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// ServeWebhooks serves what register adds, over TLS, until the test ends. It returns where, and the authority in PEM, for a webhook
// configuration of the test. Clean-ups that were registered before run after the server has stopped.
func ServeWebhooks(t testing.TB, register func(webhook.Server)) (url string, authority []byte) {
	t.Helper()
	const address = "127.0.0.1"
	dir := t.TempDir()
	public, private, err := cert.GenerateSelfSignedCertKey(address, []net.IP{net.ParseIP(address)}, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), public, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), private, 0o600))
	free, err := net.Listen("tcp", address+":0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	server := webhook.NewServer(webhook.Options{Host: address, Port: port, CertDir: dir})
	register(server)
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = server.Start(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
	require.Eventually(t, func() bool { return server.StartedChecker()(nil) == nil }, startTimeout, 20*time.Millisecond, "the webhook is served")
	return "https://" + net.JoinHostPort(address, strconv.Itoa(port)), public
}
