//go:build lab

package scenario

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// TestAdaptersKeepTheirContractsOnARealNode runs the contract suites, which the fake node passes
// in the unit tests, against real ostree and real systemd: inside a node, where they may break things.
func TestAdaptersKeepTheirContractsOnARealNode(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, _ := node(t, "scenario-contracts")
	for _, adapter := range []string{"ostree", "systemd"} {
		t.Run(adapter, func(t *testing.T) {
			runsInNode(ctx, t, l, "./internal/host/"+adapter)
		})
	}
}

// runsInNode runs the lab tests of a package as root in the node.
func runsInNode(ctx context.Context, t *testing.T, l *lab.Lab, pkg string) {
	t.Helper()
	name := filepath.Base(pkg) + ".test"
	binary := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", binary, pkg)
	build.Dir, build.Env = root(t), append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	program, err := os.ReadFile(binary)
	require.NoError(t, err)

	inNode := "/var/tmp/" + name
	put := machine.Command{Argv: []string{"sh", "-c", "cat > " + inNode + " && chmod 755 " + inNode}, Stdin: bytes.NewReader(program)}
	_, err = l.Machine.Exec(ctx, put)
	require.NoError(t, err)
	res, err := l.Machine.Exec(ctx, machine.Command{Argv: []string{
		"env", "LCA_LAB_NODE=1", "unshare", "--mount", inNode, "-test.run", "Lab", "-test.v",
	}})
	require.NoError(t, err)
	require.Zero(t, res.ExitCode, res.Stdout+res.Stderr)
	require.NotContains(t, res.Stdout, "no tests to run")
}

// TestNothingElseChanged stops a change after recert, before the cluster runs, and compares the system that it came from.
func TestNothingElseChanged(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-nothing-else")
	dropIn(ctx, t, l, "kubelet.service", notWhileSealed)
	require.NoError(t, d.Patch(ctx, move()))
	untilJournal(ctx, t, l, "the end of recert and of the network's work", `"intent","step":"wait-for-api"`)
	runsInNode(ctx, t, l, "./internal/recert")
}
