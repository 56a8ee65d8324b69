package ignition_test

import (
	"encoding/base64"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/ignition"
)

func host() hostnet.Host {
	return hostnet.Host{Name: "worker-0", Interfaces: []hostnet.Interface{{
		Name: "eth1", Addresses: []hostnet.Address{{Prefix: netip.MustParsePrefix("192.0.2.10/24")}},
	}}}
}

// rendered is the part of a config these tests look at.
type rendered struct {
	Ignition struct {
		Version string
		Config  struct{ Merge []struct{ Source string } }
	}
	Storage struct {
		Files []struct {
			Path      string
			Mode      int
			Overwrite bool
			Contents  struct{ Source string }
		}
	}
	Systemd struct{ Units []struct{ Name string } }
}

func render(t *testing.T, base string, form ignition.Form) rendered {
	t.Helper()
	out, err := ignition.Render([]byte(base), host(), form)
	require.NoError(t, err)
	require.NoError(t, ignition.Validate(out))
	var r rendered
	require.NoError(t, json.Unmarshal(out, &r))
	return r
}

func text(t *testing.T, source string) string {
	t.Helper()
	data, found := strings.CutPrefix(source, "data:;base64,")
	require.True(t, found, source)
	out, err := base64.StdEncoding.DecodeString(data)
	require.NoError(t, err)
	return string(out)
}

func TestKeyfileAlone(t *testing.T) {
	r := render(t, "", ignition.Keyfile)
	require.Equal(t, "3.2.0", r.Ignition.Version)
	require.Len(t, r.Storage.Files, 1)
	f := r.Storage.Files[0]
	require.Equal(t, "/etc/NetworkManager/system-connections/lca-eth1.nmconnection", f.Path)
	require.Equal(t, 0o600, f.Mode, "NetworkManager ignores what others can read")
	require.True(t, f.Overwrite)
	require.Contains(t, text(t, f.Contents.Source), "address1=192.0.2.10/24\n")
}

func TestNMState(t *testing.T) {
	f := render(t, "", ignition.NMState).Storage.Files[0]
	require.Equal(t, "/etc/nmstate/50-secondary-networks.yml", f.Path)
	require.Contains(t, text(t, f.Contents.Source), "ip: 192.0.2.10")
}

func TestTheBaseKeepsItsVersionAndAllItSays(t *testing.T) {
	for _, version := range []string{"3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0"} {
		t.Run(version, func(t *testing.T) {
			r := render(t, `{"ignition":{"version":"`+version+`","config":{"merge":[{"source":"https://api-int.edge.example:22623/config/worker"}]}},
				"storage":{"files":[{"path":"/etc/motd","mode":420,"contents":{"source":"data:,hello"}}]},
				"systemd":{"units":[{"name":"a.service","enabled":true}]}}`, ignition.Keyfile)
			require.Equal(t, version, r.Ignition.Version)
			require.Equal(t, "https://api-int.edge.example:22623/config/worker", r.Ignition.Config.Merge[0].Source)
			require.Equal(t, "a.service", r.Systemd.Units[0].Name)
			require.Len(t, r.Storage.Files, 2)
			require.Equal(t, "/etc/motd", r.Storage.Files[0].Path)
			require.Equal(t, 420, r.Storage.Files[0].Mode)
		})
	}
}

func TestRenderRefuses(t *testing.T) {
	for name, k := range map[string]struct{ base, want string }{
		"another format": {"#cloud-config\n", "host worker-0: base userData: refused by Ignition"},
		"version 2":      {`{"ignition":{"version":"2.2.0"}}`, "host worker-0: base userData: refused by Ignition"},
		"an invalid one": {`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"relative"}]}}`, "host worker-0: base userData: refused by Ignition"},
		"the same file": {`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/NetworkManager/system-connections/lca-eth1.nmconnection"}]}}`,
			"host worker-0: base userData writes /etc/NetworkManager/system-connections/lca-eth1.nmconnection itself"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ignition.Render([]byte(k.base), host(), ignition.Keyfile)
			require.ErrorContains(t, err, k.want)
		})
	}
	_, err := ignition.Render(nil, host(), "ifcfg")
	require.EqualError(t, err, `host worker-0: form "ifcfg" is none of keyfile, nmstate`)
}

func TestSecretsOfTheBaseStayOutOfErrors(t *testing.T) {
	_, err := ignition.Render([]byte(`{"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core","passwordHash":"$6$hunter2"}]},
		"storage":{"files":[{"path":"relative"}]}}`), host(), ignition.Keyfile)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}
