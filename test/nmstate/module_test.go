//go:build nmstate

package nmstate

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// Where a module finds things in its root.
const (
	insideTree   = "/opt/nmstate"
	insideReport = "/opt/report"
)

// managerLog is what NetworkManager said while a module ran.
const managerLog = "networkmanager.txt"

// moduleTime is the most that a module may take; what has not run by then counts as failed.
const moduleTime = 25 * time.Minute

// One module of the suite runs on a NetworkManager of its own, in this process's namespaces. TestSuite starts it.
func TestModule(t *testing.T) {
	module := os.Getenv(envModule)
	if module == "" {
		t.Skip("reason: TestSuite runs it, once for each module")
	}
	n := nmtest.Bare(t)
	if strings.Contains(module, "ovs") {
		n.StartOVS()
	}
	n.StartManager()
	furnish(t, os.Getenv(nmtest.EnvRoot))
	ctx, cancel := context.WithTimeout(t.Context(), moduleTime)
	defer cancel()
	cmd, err := nmtest.Command(ctx, "sh", "-c", `cd "$1" && shift && exec "$@"`, "module", insideTree,
		"python3", "-m", "pytest", "-p", "no:cacheprovider", "-p", "lca_report", "-q", "--no-header", "--tb=short", "--show-capture=no",
		"--log-level=CRITICAL", "-o", "log_cli=false", "-o", "addopts=", "tests/integration/"+module)
	require.NoError(t, err)
	cmd.Env = append(cmd.Env, "PYTHONPATH="+insideTree+"/python:"+insideTree+"/shim", "PATH="+insideTree+"/shim/bin:/usr/sbin:/usr/bin",
		"LCA_REPORT="+insideReport+"/tests.jsonl", "HOME=/root", "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, pythonSettings()...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv(envReport), "pytest.txt"), out, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(os.Getenv(envReport), managerLog), []byte(n.Log()), 0o600))
	t.Logf("pytest: %v", err) // that tests have failed is for the report to say
}

// pythonSettings hands on which tests of the module to run, for who looks for a cause.
func pythonSettings() (out []string) {
	if options := os.Getenv("NMSTATE_PYTEST"); options != "" {
		out = append(out, "PYTEST_ADDOPTS="+options)
	}
	return out
}

// furnish gives the root the suite's tree, a folder for the report, and folders that start empty.
func furnish(t *testing.T, root string) {
	t.Helper()
	bind(t, os.Getenv(envTree), filepath.Join(root, insideTree))
	bind(t, os.Getenv(envReport), filepath.Join(root, insideReport))
	require.NoError(t, os.MkdirAll("/etc/NetworkManager/conf.d", 0o755))
	for _, dir := range []string{"/tmp", "/var/lib/lca", "/var/log", "/etc/dnsmasq.d"} {
		at := filepath.Join(root, dir)
		require.NoError(t, os.MkdirAll(at, 0o755))
		require.NoError(t, unix.Mount("tmpfs", at, "tmpfs", 0, "mode=1777"))
	}
}

func bind(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(to, 0o755))
	require.NoError(t, unix.Mount(from, to, "", unix.MS_BIND, ""))
}

// kernelFilters says whether this machine's kernel filters VLANs on bridges: NetworkManager gives no reason where it does not.
func kernelFilters(t *testing.T) bool {
	t.Helper()
	const try = `ip link add name probe type bridge vlan_filtering 1`
	cmd := exec.Command("unshare", "--net", "sh", "-c", try)
	out, err := cmd.CombinedOutput()
	t.Logf("%s: %v %s", try, err, strings.TrimSpace(string(out)))
	return err == nil
}
