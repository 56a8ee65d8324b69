package change_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// mounted are Deployments of a node on which something is mounted below a stateroot.
type mounted struct{ host.Deployments }

func (m mounted) Remove(_ context.Context, name string) error {
	return fmt.Errorf("remove stateroot %s: %w: var/mnt is a mount point", name, host.ErrHeld)
}

// TestAMountDoesNotKeepTheNodeFromRest: the cleanup ends and says what it left, and another change is possible.
func TestAMountDoesNotKeepTheNodeFromRest(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.NoError(t, w.on(func(o *change.Operation, ctx context.Context) error {
		o.Ports.Deployments = mounted{o.Ports.Deployments}
		return o.CleanUp(ctx)
	}))
	remains, err := ipconfig.ReadRemains(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, ipconfig.Remains{oldStateroot: "remove stateroot rhcos: held by the running system: var/mnt is a mount point"}, remains)
	require.Contains(t, w.node.Describe().Stateroots, oldStateroot)
	_, err = ipconfig.ReadRequest(w.node.Files())
	require.ErrorIs(t, err, ipconfig.ErrNoRequest, "nothing holds the node")
}
