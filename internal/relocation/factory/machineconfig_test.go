package factory_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_2"
	"github.com/stretchr/testify/require"
	"github.com/vincent-petithory/dataurl"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
)

// Ignition itself reads what is rendered, file by file.
func TestIgnitionReadsTheMachineConfig(t *testing.T) {
	data, err := factory.MachineConfig{Internal: netip.MustParsePrefix("192.0.2.2/29"), Role: "master", Hint: true}.Render()
	require.NoError(t, err)
	var object struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct{ Config json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(data, &object))
	require.Equal(t, "master", object.Metadata.Labels["machineconfiguration.openshift.io/role"])
	config, report, err := ignition.ParseCompatibleVersion(object.Spec.Config)
	require.NoError(t, err, report.String())
	require.Empty(t, report.Entries, report.String())

	files := map[string]string{}
	modes := map[string]int{}
	for _, f := range config.Storage.Files {
		content, err := dataurl.DecodeString(*f.Contents.Source)
		require.NoError(t, err)
		files[f.Path], modes[f.Path] = string(content.Data), *f.Mode
	}
	const dispatcher = "/etc/NetworkManager/dispatcher.d/pre-up.d/30-lca-internal-address"
	require.Len(t, files, 3)
	require.Equal(t, "192.0.2.2/29\n", files[relocation.InternalFile])
	require.Equal(t, "KUBELET_NODEIP_HINT=192.0.2.0\n", files[host.NodeIPHint])
	require.Contains(t, files[dispatcher], `ip address replace "$address" dev "$1"`)
	require.Equal(t, 0o755, modes[dispatcher], "NetworkManager runs executable files only")
	require.Equal(t, 0o644, modes[host.NodeIPHint])

	units, dropIns := map[string]string{}, map[string]string{}
	for _, u := range config.Systemd.Units {
		require.Nil(t, u.Enabled, "%s: the preparation enables it, in the system that is shipped", u.Name)
		if u.Contents != nil {
			units[u.Name] = *u.Contents
		}
		for _, d := range u.Dropins {
			dropIns[u.Name+"/"+d.Name] = *d.Contents
		}
	}
	require.Equal(t, map[string]string{relocation.UnitReconfigure: relocation.ReconfigureUnit, relocation.UnitPage: relocation.PageUnit}, units)
	require.Equal(t, relocation.HoldText, dropIns[host.UnitKubelet+"/"+relocation.HoldDropIn])
	require.Len(t, dropIns, len(relocation.HeldUnits()))
}

func TestInternalAddressesThatLeaveNoRoomAreRefused(t *testing.T) {
	for _, text := range []string{"2001:db8::1/64", "192.0.2.1/31", "192.0.2.0/29", "192.0.2.7/29", "10.0.0.1/8"} {
		_, err := factory.MachineConfig{Internal: netip.MustParsePrefix(text), Role: "master"}.Render()
		require.ErrorIs(t, err, operation.ErrRefused, text)
	}
	_, err := factory.MachineConfig{Role: "master"}.Render()
	require.ErrorIs(t, err, operation.ErrRefused)
}
