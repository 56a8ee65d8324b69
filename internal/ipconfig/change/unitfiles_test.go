package change

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// settings reads a unit's [Service] section.
func settings(t *testing.T, text string) map[string]string {
	t.Helper()
	options, err := unit.DeserializeOptions(strings.NewReader(text))
	require.NoError(t, err)
	service := map[string]string{}
	for _, o := range options {
		if o.Section == "Service" {
			service[o.Name] = strings.TrimSpace(service[o.Name] + " " + o.Value)
		}
	}
	return service
}

func TestUnitsAreConfinedAsFarAsTheirWorkAllows(t *testing.T) {
	both := map[string]string{
		"ProtectHome": "tmpfs", "ProtectKernelLogs": "yes", "RestrictRealtime": "yes", "LockPersonality": "yes",
		"SystemCallArchitectures": "native", "UMask": "0077", "PrivateMounts": "yes",
		"Restart": "on-failure", "RestartPreventExitStatus": "3",
	}
	for _, c := range []struct {
		name, text string
		also       map[string]string
	}{
		{ipconfig.UnitIPConfiguration, ipConfigurationUnit, map[string]string{
			"ExecStart": host.CLI + " ip-config post-pivot", "Type": "oneshot", "NoNewPrivileges": "", "RestrictNamespaces": ""}},
		{ipconfig.UnitInitMonitor, initMonitorUnit, map[string]string{
			"ExecStart": host.CLI + " init-monitor --monitor", "NoNewPrivileges": "yes", "RestrictNamespaces": "mnt",
			"RestrictSUIDSGID": "", "ProtectControlGroups": "yes", "ProtectKernelTunables": "yes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := settings(t, c.text)
			for _, want := range []map[string]string{both, c.also} {
				for name, value := range want {
					require.Equal(t, value, service[name], name)
				}
			}
			for _, never := range []string{"ProtectSystem", "PrivateDevices", "PrivateNetwork", "PrivateUsers", "User"} {
				require.NotContains(t, service, never, "ostree and NetworkManager could not be worked with")
			}
			require.Equal(t, "no", service["PrivateTmp"], "recert's summary lies in the host's /var/tmp")
			for _, gone := range []string{"CAP_SYS_MODULE", "CAP_SYS_TIME", "CAP_SYS_RAWIO", "CAP_SYSLOG"} {
				require.Contains(t, service["CapabilityBoundingSet"], gone)
			}
			for _, needed := range []string{"CAP_SYS_ADMIN", "CAP_LINUX_IMMUTABLE", "CAP_NET_RAW", "CAP_MAC_ADMIN", "CAP_DAC_OVERRIDE"} {
				require.NotContains(t, service["CapabilityBoundingSet"], needed)
			}
		})
	}
}

// TestSystemdUnderstandsTheLastResort reads the three units together, for they name each other.
func TestSystemdUnderstandsTheLastResort(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("reason: systemd-analyze is not on this machine")
	}
	dir, files := t.TempDir(), []string(nil)
	for name, text := range map[string]string{ipconfig.UnitLastResort: lastResortUnit,
		ipconfig.UnitLastResortTimer: fmt.Sprintf(lastResortTimer, 2700), ipconfig.UnitCheckCLI: fmt.Sprintf(checkCLIUnit, "/bin/true"),
		ipconfig.UnitEmergency: emergencyUnit} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		files = append(files, file)
	}
	verify(t, analyze, files...)
}

func verify(t *testing.T, analyze string, files ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), analyze, append([]string{"verify"}, files...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "Unknown key", "%s", out)
}

// TestSystemdUnderstandsTheUnits has the systemd of this machine read and rate them.
func TestSystemdUnderstandsTheUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("reason: systemd-analyze is not on this machine")
	}
	for name, text := range map[string]string{ipconfig.UnitIPConfiguration: ipConfigurationUnit, ipconfig.UnitInitMonitor: initMonitorUnit} {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, host.CLI, "/bin/true")), 0o600))
		verify(t, analyze, file)
		out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--no-pager", file).CombinedOutput()
		if err != nil {
			t.Skipf("reason: this systemd-analyze cannot rate files: %v", err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Log(lines[len(lines)-1])
		require.NotContains(t, lines[len(lines)-1], "UNSAFE")
	}
}

// TestTheLastResortBootsTheDeploymentThatRan runs the part of the script that picks it, in a shell whose ostree lists an update of the
// old stateroot first.
func TestTheLastResortBootsTheDeploymentThatRan(t *testing.T) {
	p := &PrePivot{Request: ipconfig.Request{OperationID: "op", OldStateroot: "rhcos"}}
	for id, want := range map[string]string{"aa.0": "2\n", "aa.1": "1\n", "bb.0": ""} {
		script := p.lastResortScript(host.Deployment{Stateroot: "rhcos", Checksum: id[:2], Serial: int(id[3] - '0')}, false)
		_, pick, found := strings.Cut(script, "\nindex=")
		require.True(t, found)
		pick, _, found = strings.Cut(pick, "ostree admin set-default")
		require.True(t, found)
		const status = `ostree() { printf '%s\n' '* rhcos_ipc-op aa.0' '  rhcos aa.1 (pending)' '    Version: 9' '  rhcos aa.0 (rollback)'; }` + "\n"
		out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", status+"index="+pick+`echo "$index"`).Output()
		require.Equal(t, want, string(out), id)
		require.Equal(t, want == "", err != nil, id)
	}
}

// TestTheLastResortRebootsWhereThatLeadsBack runs the end of the script with an ostree that does not answer: in emergency mode it may
// be what is broken.
func TestTheLastResortRebootsWhereThatLeadsBack(t *testing.T) {
	p := &PrePivot{Request: ipconfig.Request{OperationID: "op", OldStateroot: "rhcos"}}
	for _, once := range []bool{true, false} {
		script := p.lastResortScript(host.Deployment{Stateroot: "rhcos", Checksum: "aa"}, once)
		_, end, found := strings.Cut(script, "\nindex=")
		require.True(t, found)
		const tools = "ostree() { return 1; }\nsync() { :; }\nsystemctl() { echo \"$@\"; }\n"
		out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", tools+"index="+end).Output()
		require.Equal(t, once, string(out) == "--no-block reboot\n", "%s", out)
		require.Equal(t, once, err == nil)
	}
}
