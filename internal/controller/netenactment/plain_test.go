package netenactment

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// plainFiles are those of a machine without ostree.
type plainFiles struct{ host.Files }

func (f plainFiles) Stat(path string) (fs.FileInfo, error) {
	if path == host.DeployDir {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return f.Files.Stat(path)
}

// A plain node has no stateroot.
func TestAPlainNodeEnactsPolicies(t *testing.T) {
	w := newWorld(t)
	w.r.Node.Files, w.r.Node.Deployments = plainFiles{w.node.Files()}, nil
	w.r.InstallCLI = func() error { return w.node.Files().Write(host.CLI, []byte("lca-cli of the agent"), 0o755) }
	w.inForce("mtu", mtu1400, nil)
	require.Equal(t, condition.Available, w.state("mtu"))
	require.Equal(t, 1400, w.mtu())
	program, err := w.node.Files().Read(host.CLI)
	require.NoError(t, err)
	require.Equal(t, "lca-cli of the agent", string(program))
	require.Equal(t, host.CLI, job.Argv[0])
}
