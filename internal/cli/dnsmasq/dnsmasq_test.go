package dnsmasq_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/dnsmasq"
)

func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := dnsmasq.Command(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

var site = []string{"--name", "mysno", "--domain", "sno.cluster-domain.com", "--ip", "10.20.30.5"}

// The bytes are those that the field's own script prints.
func TestTheOutputIsTheFields(t *testing.T) {
	for file, args := range map[string][]string{"policy.yaml": {"policy", "--wave", "100"}, "machineconfig.yaml": {"machineconfig"}} {
		want, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		have, err := run(t, append(args, site...)...)
		require.NoError(t, err)
		require.Equal(t, string(want), have)
	}
}

func TestWithoutAWaveThereIsNoAnnotation(t *testing.T) {
	out, err := run(t, append([]string{"policy"}, site...)...)
	require.NoError(t, err)
	require.NotContains(t, out, "annotations")
}

// scripts decodes the files of a MachineConfig.
func scripts(t *testing.T, text string) map[string]string {
	t.Helper()
	var doc struct {
		Spec struct {
			Config struct {
				Storage struct {
					Files []struct {
						Path     string
						Contents struct{ Source string }
					}
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
	out := map[string]string{}
	for _, f := range doc.Spec.Config.Storage.Files {
		_, data, _ := strings.Cut(f.Contents.Source, "base64,")
		plain, err := base64.StdEncoding.DecodeString(data)
		require.NoError(t, err)
		out[f.Path] = string(plain)
	}
	return out
}

// The script, run as the unit runs it, writes the records of every address.
func TestTheScriptWritesTheRecords(t *testing.T) {
	for name, c := range map[string]struct {
		ips      []string
		override string
		want     []string
	}{
		"IPv4":       {[]string{"192.0.2.1"}, "", []string{"address=/api.a.b.c/192.0.2.1"}},
		"IPv6":       {[]string{"2001:db8::1"}, "", []string{"address=/apps.a.b.c/2001:db8::1"}},
		"dual stack": {[]string{"192.0.2.1", "2001:db8::1"}, "", []string{"address=/api.a.b.c/192.0.2.1", "address=/api.a.b.c/2001:db8::1"}},
		"overridden": {[]string{"192.0.2.1", "2001:db8::1"}, "SNO_DNSMASQ_IP_OVERRIDE=192.0.2.9\nSNO_CLUSTER_NAME_OVERRIDE=z\n",
			[]string{"address=/api-int.z.b.c/192.0.2.9"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"machineconfig", "--name", "a", "--domain", "b.c"}
			for _, ip := range c.ips {
				args = append(args, "--ip", ip)
			}
			out, err := run(t, args...)
			require.NoError(t, err)
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(dir+"/overrides", []byte(c.override), 0o600))
			script := strings.NewReplacer("/etc/default/sno_dnsmasq_configuration_overrides", dir+"/overrides", "/etc/dnsmasq.d", dir).
				Replace(scripts(t, out)["/usr/local/bin/dnsmasq_config.sh"])
			cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-c", script)
			said, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", said)
			have, err := os.ReadFile(dir + "/single-node.conf")
			require.NoError(t, err)
			for _, line := range c.want {
				require.Contains(t, string(have), line+"\n")
			}
			require.Len(t, strings.Split(strings.TrimSpace(string(have)), "\n"), 3*max(1, len(c.want)))
		})
	}
}

func TestBadInputIsRefused(t *testing.T) {
	for says, args := range map[string][]string{
		"--name \"a b\"":     {"policy", "--name", "a b", "--domain", "b.c", "--ip", "192.0.2.1"},
		"--domain \"$(x)\"":  {"policy", "--name", "a", "--domain", "$(x)", "--ip", "192.0.2.1"},
		"--ip \"x\"":         {"policy", "--name", "a", "--domain", "b.c", "--ip", "x"},
		"--ip \"0.0.0.0\"":   {"machineconfig", "--name", "a", "--domain", "b.c", "--ip", "0.0.0.0"},
		"--ip \"fe80::1%e\"": {"machineconfig", "--name", "a", "--domain", "b.c", "--ip", "fe80::1%e"},
		"one of each family": {"policy", "--name", "a", "--domain", "b.c", "--ip", "192.0.2.1", "--ip", "192.0.2.2"},
		"--wave 101":         append([]string{"policy", "--wave", "101"}, site...),
		"--wave 0":           append([]string{"policy", "--wave", "0"}, site...),
		"required flag":      {"policy", "--name", "a"},
	} {
		out, err := run(t, args...)
		require.ErrorContains(t, err, says)
		require.Empty(t, out)
	}
}
