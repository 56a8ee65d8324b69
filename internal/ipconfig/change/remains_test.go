package change_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// mounted are Deployments of a node on which something is mounted below a stateroot: all but that is removed.
type mounted struct {
	host.Deployments
	files host.Files
}

func (m mounted) Remove(ctx context.Context, name string) error {
	if err := m.Deployments.Remove(ctx, name); err != nil {
		return err
	}
	if err := m.files.Write(host.InVar(name, "/var/mnt/file"), nil, 0o600); err != nil {
		return err
	}
	return fmt.Errorf("remove stateroot %s: %w: var/mnt is a mount point", name, host.ErrHeld)
}

// TestAMountDoesNotKeepTheNodeFromRest: the cleanup ends and says what it left, another change is possible, and the next cleanup
// takes the rest.
func TestAMountDoesNotKeepTheNodeFromRest(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.NoError(t, w.on(func(o *change.Operation, ctx context.Context) error {
		o.Ports.Deployments = mounted{o.Ports.Deployments, w.node.Files()}
		return o.CleanUp(ctx)
	}))
	remains, err := ipconfig.ReadRemains(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, ipconfig.Remains{oldStateroot: "remove stateroot rhcos: held by the running system: var/mnt is a mount point"}, remains)
	left := host.InVar(oldStateroot, "/var/mnt/file")
	_, err = w.node.Files().Stat(left)
	require.NoError(t, err)
	_, err = ipconfig.ReadRequest(w.node.Files())
	require.ErrorIs(t, err, ipconfig.ErrNoRequest, "nothing holds the node")

	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return change.CleanUpBare(ctx, w.ports()) }))
	_, err = w.node.Files().Stat(left)
	require.ErrorIs(t, err, fs.ErrNotExist)
	remains, err = ipconfig.ReadRemains(w.node.Files())
	require.NoError(t, err)
	require.Empty(t, remains)
}
