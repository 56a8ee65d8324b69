package recert

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
)

const peerCert = "/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-peer-sno.crt"

func TestVerifyTellsBeforeFromAfter(t *testing.T) {
	c := newCluster(t)
	answer, err := c.run("verify")
	require.ErrorIs(t, err, ErrNotVerified)
	require.Contains(t, answer, "/kubernetes.io/configmaps/openshift-etcd/etcd-endpoints data/MTky")
	_, err = c.run("apply")
	require.NoError(t, err)
	answer, err = c.run("verify")
	require.NoError(t, err, answer)
	golden(t, "verify.txt", answer)

	answer, err = c.run("verify", "-o", "json")
	require.NoError(t, err)
	var v struct {
		Passed    bool
		Leftovers []inspect.Note
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &v))
	require.True(t, v.Passed)
	require.Len(t, v.Leftovers, 1, "a mention in somebody's notes is no failure")
}

func TestVerifyFindsACertificateThatIsNotItsKeys(t *testing.T) {
	c := newCluster(t)
	_, err := c.run("apply")
	require.NoError(t, err)
	stranger := identityOf(t, "somebody", nil)
	c.write(peerCert[:len(peerCert)-len(".crt")]+".key", stranger.keyPEM(t))
	answer, err := c.run("verify")
	require.ErrorIs(t, err, ErrNotVerified)
	require.Contains(t, answer, peerCert)
}

func TestScanShowsWhoSignedWhom(t *testing.T) {
	c := newCluster(t)
	answer, err := c.run("scan")
	require.NoError(t, err)
	golden(t, "scan.txt", answer)
	answer, err = c.run("scan", "-o", "yaml")
	require.NoError(t, err)
	require.Contains(t, answer, "signedBy:")
}

func TestScanNeedsNoConfiguration(t *testing.T) {
	c := newCluster(t)
	require.NoError(t, c.remove("/var/lib/lca/workspace/recert_config.json"))
	answer, err := c.run("scan")
	require.NoError(t, err)
	require.Contains(t, answer, "CN=system:etcd-peer:sno")
	_, err = c.run("verify")
	require.ErrorContains(t, err, "/var/lib/lca/workspace/recert_config.json does not exist")
	_, err = c.run("scan", "--config", "/mistyped")
	require.ErrorContains(t, err, "/mistyped does not exist")
}
