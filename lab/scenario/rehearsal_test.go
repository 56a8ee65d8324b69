//go:build lab

package scenario

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// TestARehearsalThenTheChange: the running node's etcd is copied over its own TLS endpoint and rewritten, in a unit of systemd's.
// Nothing of the rehearsal stays, and the change that follows is not in its way. The lab's static pods name images that podman does not
// have, so that etcd and kube-apiserver of the copy cannot be tried here.
func TestARehearsalThenTheChange(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-rehearsal")
	before := in(ctx, t, l, "sh", "-c", "ostree admin status; ls /sysroot/ostree/deploy; cat /etc/kubernetes/manifests/*")
	text := in(ctx, t, l, "sh", "-c", "lca-cli ip-config rehearse -o json --ipv4-address "+away.String()+" --ipv4-machine-network "+
		awayNetwork+" --ipv4-gateway "+network.Away().Gateway.Addr().String()+" --dns-server "+network.Away().DNS.Addr().String()+
		" 2>/run/rehearsal.log || test $? = 3")
	var report lcav1.Rehearsal
	require.NoError(t, json.Unmarshal([]byte(text), &report), text)
	results := map[string]lcav1.ProofResult{}
	for _, p := range report.Proofs {
		require.NotEqual(t, lcav1.ProofFailed, p.Result, "%s: %s", p.Name, p.Message)
		results[p.Name] = p.Result
	}
	for _, name := range []string{"checks", "configuration", "etcd-copy", "recert"} {
		require.Equal(t, lcav1.ProofProved, results[name], "%s: %s", name, text)
	}
	require.Equal(t, before, in(ctx, t, l, "sh", "-c", "ostree admin status; ls /sysroot/ostree/deploy; cat /etc/kubernetes/manifests/*"))
	require.Empty(t, in(ctx, t, l, "sh", "-c", "ls -d /var/lib/lca/rehearsal /var/lib/lca/ip-config-rehearsal.json /etc/tmpfiles.d/lca-rehearsal.conf 2>/dev/null || true"))
	require.Contains(t, in(ctx, t, l, "sh", "-c", "systemctl show --property=LoadState,ActiveState lca-ipconfig-rehearsal.service"), "inactive")
	require.True(t, drive.Look(ctx, l, home).API)

	require.NoError(t, d.Patch(ctx, move()))
	_, err := d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	require.True(t, drive.Look(ctx, l, away).API)
}
