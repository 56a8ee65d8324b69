package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

// deployment is an ostree host's: /ostree is a link.
const deployment = "/ostree/deploy/new/deploy/0.0"

func ostreeHost(t *testing.T) (*Manager, string) {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sysroot", deployment, host.UnitDir), 0o755))
	require.NoError(t, os.Symlink("sysroot/ostree", filepath.Join(root, "ostree")))
	return New(Options{Root: root}), root
}

func TestForeignUnitsContract(t *testing.T) {
	hostcontract.TestForeignUnits(t, func(t *testing.T) hostcontract.ForeignUnitsFixture {
		m, root := ostreeHost(t)
		return hostcontract.ForeignUnitsFixture{Foreign: m, Files: files.New(root), Root: deployment}
	})
}

const wantedUnit = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"

func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, deployment, host.UnitDir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

func TestLinksLeadWhereSystemdLooks(t *testing.T) {
	m, root := ostreeHost(t)
	put(t, root, "a.service", wantedUnit)
	at := filepath.Join(root, deployment, host.UnitDir, "multi-user.target.wants", "a.service")
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
	// A link that leads elsewhere, and what a run left that was cut short.
	require.NoError(t, os.Symlink("/usr/lib/systemd/system/other.service", at))
	require.NoError(t, os.Symlink("/nowhere", filepath.Join(filepath.Dir(at), ".lca-a.service")))
	require.NoError(t, m.EnableIn(t.Context(), deployment, "a.service"))
	target, err := os.Readlink(at)
	require.NoError(t, err)
	require.Equal(t, host.UnitDir+"/a.service", target)
	left, err := os.ReadDir(filepath.Dir(at))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// A deployment cannot make the running system's folders change.
func TestALinkOutOfTheDeploymentIsNotFollowed(t *testing.T) {
	m, root := ostreeHost(t)
	put(t, root, "a.service", wantedUnit)
	outside := filepath.Join(root, "outside")
	require.NoError(t, os.MkdirAll(outside, 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, deployment, host.UnitDir, "multi-user.target.wants")))
	require.Error(t, m.EnableIn(t.Context(), deployment, "a.service"))
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestSystemdAgrees asks the systemd of this machine. It is asked by a path without links, since with one it fails over
// the drop-in, which is why the links are not left to it.
func TestSystemdAgrees(t *testing.T) {
	systemctl, err := exec.LookPath("systemctl")
	if err != nil {
		t.Skip("reason: systemctl is not on this machine")
	}
	m, root := ostreeHost(t)
	put(t, root, "a.service", wantedUnit)
	put(t, root, "a.service.d/50-site.conf", "[Service]\nNice=3\n")
	state := func() string {
		out, _ := exec.CommandContext(t.Context(), systemctl, "--root="+filepath.Join(root, "sysroot", deployment), "is-enabled", "a.service").Output()
		return strings.TrimSpace(string(out))
	}
	require.Equal(t, "disabled", state())
	require.NoError(t, m.EnableIn(t.Context(), deployment, "a.service"))
	require.Equal(t, "enabled", state())
	require.NoError(t, m.DisableIn(t.Context(), deployment, "a.service"))
	require.Equal(t, "disabled", state())
}
