package machineconfig

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/coreos/ignition/v2/config"
	ignition "github.com/coreos/ignition/v2/config/v3_2/types"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// parsed has Ignition itself read the config.
func parsed(t *testing.T, mc *mcv1.MachineConfig) (c ignition.Config) {
	t.Helper()
	_, report, err := config.Parse(mc.Spec.Config.Raw)
	require.NoError(t, err)
	require.False(t, report.IsFatal(), report.String())
	require.NoError(t, json.Unmarshal(mc.Spec.Config.Raw, &c))
	return c
}

func TestDocument(t *testing.T) {
	document := []byte(`{"interfaces":[{"name":"eth1","state":"up"}]}`)
	mc, err := Document("worker", "vlan-100", document)
	require.NoError(t, err)
	require.Equal(t, "99-worker-generated-network-vlan-100", mc.Name)
	require.Equal(t, map[string]string{"machineconfiguration.openshift.io/role": "worker"}, mc.Labels)
	c := parsed(t, mc)
	require.Len(t, c.Storage.Files, 1)
	require.Equal(t, "/etc/nmstate/openshift/policies/vlan-100.yml", c.Storage.Files[0].Path)
	require.Equal(t, 0o600, *c.Storage.Files[0].Mode)
	for _, x := range []struct {
		policy, document string
		want             bool
	}{
		{"vlan-100", `{"interfaces": [{"state":"up", "name":"eth1"}]}`, true},
		{"vlan-100", `{"interfaces": [{"state":"down", "name":"eth1"}]}`, false},
		{"vlan-200", string(document), false},
	} {
		has, err := Carries(mc.Spec.Config.Raw, x.policy, []byte(x.document))
		require.NoError(t, err)
		require.Equal(t, x.want, has, x.document)
	}
	_, err = Carries([]byte("{"), "p", document)
	require.ErrorContains(t, err, "read the Ignition config")
	empty, err := Document("worker", "p", nil)
	require.NoError(t, err)
	parsed(t, empty)
}

func TestOverlay(t *testing.T) {
	mc, err := DefaultOverlay().MachineConfig("worker")
	require.NoError(t, err)
	c := parsed(t, mc)
	require.Equal(t, "etc-NetworkManager-systemConnectionsMerged.mount", c.Systemd.Units[0].Name)
	require.Contains(t, *c.Systemd.Units[0].Contents, "Where=/etc/NetworkManager/systemConnectionsMerged\n")
	require.Contains(t, *c.Systemd.Units[0].Contents, "Before=NetworkManager.service\n")
	require.Equal(t, []string{"/etc/NetworkManager/conf.d/99-kni.conf", "/etc/tmpfiles.d/nm-system-connections.conf"},
		[]string{c.Storage.Files[0].Path, c.Storage.Files[1].Path})
}

func TestTheUnitIsNamedAsSystemdNamesIt(t *testing.T) {
	o := DefaultOverlay()
	o.Merged = "/etc/NetworkManager/system-connections-merged"
	require.Equal(t, `etc-NetworkManager-system\x2dconnections\x2dmerged.mount`, o.Unit())
	program, err := exec.LookPath("systemd-escape")
	if err != nil {
		t.Skip("reason: systemd-escape is not installed; the names above are its")
	}
	for _, path := range []string{o.Merged, "/.hidden/a.b/c_d", "/a//b/"} {
		out, err := exec.CommandContext(t.Context(), program, "--path", "--suffix=mount", path).Output()
		require.NoError(t, err)
		o.Merged = path
		require.NotEmpty(t, out)
		if path != "/a//b/" { // such a path is refused before
			require.Equal(t, string(out), o.Unit()+"\n")
		}
	}
}

func TestOverlayRefusesWhatWouldFailAtBoot(t *testing.T) {
	for words, change := range map[string]func(*Overlay){
		"must be an absolute path":        func(o *Overlay) { o.Merged = "merged" },
		"without blanks":                  func(o *Overlay) { o.Lower = "/etc/a:b" },
		"must be on one file system":      func(o *Overlay) { o.Work = "/tmp/work" },
		"must not contain each other":     func(o *Overlay) { o.Merged = o.Lower + "/merged" },
		`merged folder "" of the overlay`: func(o *Overlay) { o.Merged = "" },
	} {
		o := DefaultOverlay()
		change(&o)
		_, err := o.MachineConfig("worker")
		require.ErrorContains(t, err, words)
	}
}

func TestNodeDisruptionPolicy(t *testing.T) {
	text, err := yaml.Marshal(NodeDisruptionPolicy().Spec.NodeDisruptionPolicy)
	require.NoError(t, err)
	require.Contains(t, string(text), "files:\n- actions:\n  - type: None\n  path: /etc/nmstate/openshift\n")
	require.Contains(t, Path("p"), DisruptionPath+"/", "the policy is of the folder above")
}
