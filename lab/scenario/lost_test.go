//go:build lab

package scenario

import (
	"context"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

// TestALostObjectIsNoRequestToGoBack deletes the IPConfig of a completed change: the node stays where it is, without a reboot,
// the object comes back as the node has it on record, and the rollback is still on offer.
func TestALostObjectIsNoRequestToGoBack(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := sharedNode(t)
	labelNode(ctx, t, l, "rack", "7")
	require.NoError(t, d.Patch(ctx, move()))
	before, err := d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	require.Equal(t, "7", theNode(ctx, t, l, away).Labels["rack"], "the Node object is not made anew")
	boot := in(ctx, t, l, "cat", "/proc/sys/kernel/random/boot_id")

	require.NoError(t, d.Delete(ctx))
	after, err := d.Until(ctx, "the object again, with its completed change", func(ipc *lcav1.IPConfig) bool {
		return ipc.UID != before.UID && drive.Is(lcav1.ConditionConfigCompleted)(ipc)
	})
	require.NoError(t, err)
	require.Equal(t, lcav1.StageConfig, after.Spec.Stage)
	require.Equal(t, before.Spec.IPv4, after.Spec.IPv4)
	require.Equal(t, boot, in(ctx, t, l, "cat", "/proc/sys/kernel/random/boot_id"))
	require.True(t, drive.Look(ctx, l, away).API)

	require.NoError(t, d.Stage(ctx, lcav1.StageRollback))
	back, err := d.Until(ctx, "a completed rollback", drive.Is(lcav1.ConditionRollbackCompleted))
	require.NoError(t, err)
	requireBack(ctx, t, l, d, back)
}

// theNode is the one Node object, read at an address.
func theNode(ctx context.Context, t *testing.T, l *lab.Lab, at netip.Addr) *corev1.Node {
	t.Helper()
	var nodes corev1.NodeList
	require.NoError(t, apiAt(t, l, at).List(ctx, &nodes))
	require.Len(t, nodes.Items, 1)
	return &nodes.Items[0]
}

func labelNode(ctx context.Context, t *testing.T, l *lab.Lab, key, value string) {
	t.Helper()
	node := theNode(ctx, t, l, home)
	base := node.DeepCopy()
	node.Labels[key] = value
	require.NoError(t, apiAt(t, l, home).Patch(ctx, node, client.MergeFrom(base)))
}
