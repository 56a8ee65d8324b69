package hosttest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
)

func TestNewNodeRunsAHealthyCluster(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	require.NoError(t, n.ClusterUp())
	d := n.Describe()
	require.Equal(t, "rhcos", d.Booted)
	require.Equal(t, "rhcos", d.Default)
	require.Equal(t, []string{"192.0.2.10"}, d.Running)
	require.Equal(t, []string{"192.0.2.10"}, d.Stateroots["rhcos"].Keystore)
	require.Equal(t, []string{"192.0.2.10/24"}, d.Stateroots["rhcos"].Profiles)
	require.Contains(t, d.Stateroots["rhcos"].Enabled, host.UnitKubelet)
	require.Empty(t, n.Failures())
}

func TestUnsyncedMirrorIsLostAndSyncedIsNot(t *testing.T) {
	ctx := context.Background()
	for _, sync := range []bool{false, true} {
		n := hosttest.NewNode(hosttest.Options{})
		_, err := n.Deployments().Clone(ctx, "new")
		require.NoError(t, err)
		_, err = n.Trees().Mirror(ctx, host.CopyRequest{From: "/var", To: host.InVar("new", "/var")})
		require.NoError(t, err)
		if sync {
			require.NoError(t, n.Trees().Sync("/ostree"))
		}
		n.Cut()
		require.NoError(t, n.Boot(ctx))
		_, err = n.Files().Stat(host.InVar("new", host.CLIInVar))
		require.Equal(t, sync, err == nil)
	}
}
