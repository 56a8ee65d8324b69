package ostree

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

func needLabNode(t *testing.T) {
	t.Helper()
	if os.Getenv("LCA_LAB_NODE") != "1" {
		t.Skip("reason: changes the deployments of the machine it runs on; build this test with `go test -c`, " +
			"and run it in a lab node under `unshare --mount` with LCA_LAB_NODE=1")
	}
}

// onNode is the node's own ostree, with what an earlier test left removed.
func onNode(t *testing.T) *Deployments {
	t.Helper()
	require.NoError(t, WritableSysroot(t.Context()))
	runner := run.New(run.Options{Observe: func(e run.Evidence) {
		t.Logf("%6.2fs exit %d %s\n%s", e.Took.Seconds(), e.ExitCode, strings.Join(e.Argv, " "), e.Output)
	}})
	d := New(Options{Runner: runner, Files: files.New("/")})
	restore := func() {
		all, err := d.List(t.Context())
		require.NoError(t, err)
		booted, err := host.Booted(all)
		require.NoError(t, err)
		require.NoError(t, d.SetDefault(t.Context(), booted.Stateroot))
		roots, err := d.Stateroots(t.Context())
		require.NoError(t, err)
		for _, name := range roots {
			if strings.HasPrefix(name, "contract-") {
				require.NoError(t, d.Remove(t.Context(), name))
			}
		}
	}
	restore()
	return d
}

func TestLabContract(t *testing.T) {
	needLabNode(t)
	hostcontract.TestDeployments(t, func(t *testing.T) hostcontract.DeploymentsFixture {
		return hostcontract.DeploymentsFixture{Deployments: onNode(t), Files: files.New("/")}
	})
	onNode(t)
}

// A clone boots with the kernel arguments of what runs, and with nothing a boot loader added.
func TestLabCloneTakesTheKernelArguments(t *testing.T) {
	needLabNode(t)
	d := onNode(t)
	clone, err := d.Clone(t.Context(), "contract-kargs")
	require.NoError(t, err)
	defer onNode(t)
	menu, err := d.readEntries()
	require.NoError(t, err)
	var options [2]string
	for i, index := range []int{0, clone.Index} {
		data, err := d.files.Read(path.Join(host.BootEntries, menu[index].file))
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "options "); ok {
				options[i] = strings.TrimSpace(rest)
			}
		}
	}
	without := func(s string) string { return strings.ReplaceAll(s, "ostree="+ostreeWord(s), "") }
	require.Equal(t, without(options[0]), without(options[1]))
	require.NotContains(t, options[1], "BOOT_IMAGE")
	require.Equal(t, 1, strings.Count(options[1], "ostree="))
	origin, err := d.files.Read(clone.Origin())
	require.NoError(t, err)
	require.Contains(t, string(origin), "[origin]")
}

func TestLabReadOnlySysrootBecomesWritableHereOnly(t *testing.T) {
	needLabNode(t)
	onNode(t)
	probe := path.Join(host.SysrootDir, "lca-probe")
	require.NoError(t, os.WriteFile(probe, nil, 0o600))
	require.NoError(t, os.Remove(probe))
	outside := run.Command{Argv: []string{"nsenter", "--target", "1", "--mount", "--", "touch", probe}}
	_, err := run.New(run.Options{}).Run(t.Context(), outside)
	require.ErrorContains(t, err, "Read-only file system", "the protection stays for everybody else")
}
