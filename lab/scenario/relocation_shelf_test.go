//go:build lab

package scenario

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// TestRelocationWithExpiredCertificates sets a node up whose certificates have ended between factory and site: it gets home, and each
// certificate of its control plane is valid then.
func TestRelocationWithExpiredCertificates(t *testing.T) {
	r := shipped(t, "scenario-relocation-shelf")
	ctx, l := r.ctx, r.lab
	in(ctx, t, l, "sh", "-c", `umask 077; cat > /root/expire.json <<'EOF'
{"force_expire": true, "crypto_dirs": ["/kubelet", "/kubernetes"], "summary_file": "/root/expired.yaml"}
EOF
lca-cli recert apply --config /root/expire.json`)
	expired, all := certificates(ctx, t, l)
	require.Positive(t, expired, "of %d none has ended", all)
	t.Logf("%d of %d certificates have ended", expired, all)

	r.insert(ctx, siteConfig(network.Away().Gateway.Addr().String()))
	r.atHome(ctx)
	expired, all = certificates(ctx, t, l)
	require.Zero(t, expired, "of %d certificates", all)
	require.Positive(t, all)
}

// certificates counts the leaves of the control plane in files, and those that have ended.
func certificates(ctx context.Context, t *testing.T, l *lab.Lab) (expired, all int) {
	t.Helper()
	const pods = "/etc/kubernetes/static-pod-resources"
	rest := []byte(in(ctx, t, l, "sh", "-c", "find "+pods+" -type f \\( -name tls.crt -o -name '*serving*.crt' \\) -exec cat {} +"))
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return expired, all
		}
		c, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		if c.IsCA {
			continue
		}
		all++
		if time.Now().After(c.NotAfter) {
			expired++
		}
	}
}
