//go:build interop

package interop

import (
	"encoding/json"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_5/types"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	"github.com/vincent-petithory/dataurl"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
)

// masterPool is the pool that configs are rendered for; its nodes are the ones with this role.
const masterPool = "master"

// rendering is the machine config controller as the bootstrap of a cluster runs it: it renders a pool's configs, its own templates among
// them, from files to files.
type rendering struct {
	t          *testing.T
	source     source
	controller string
}

func newRendering(t *testing.T) *rendering {
	t.Helper()
	return &rendering{t: t, source: open(t, "openshift/machine-config-operator"), controller: program(t, "machine-config-controller")}
}

// bootstrapFiles are the project's own examples of what an installation gives the controller.
const bootstrapFiles = "pkg/controller/bootstrap/testdata/bootstrap"

// featureGate has no feature that looks for images in a registry.
const featureGate = `{"apiVersion":"config.openshift.io/v1","kind":"FeatureGate","metadata":{"name":"cluster"},
"status":{"featureGates":[{"version":"` + labVersion + `","enabled":[],"disabled":[{"name":"OSStreams"}]}]}}`

// render returns the rendered config of the pool of masters for these configs and the project's own.
func (r *rendering) render(configs ...any) *mcv1.MachineConfig {
	r.t.Helper()
	files, manifests, out := r.source.Export(bootstrapFiles, "templates"), r.t.TempDir(), r.t.TempDir()
	for _, name := range []string{"master.machineconfigpool.yaml", "machineconfigcontroller-controllerconfig.yaml"} {
		require.NoError(r.t, os.Rename(filepath.Join(files, bootstrapFiles, name), filepath.Join(manifests, name)))
	}
	require.NoError(r.t, os.WriteFile(filepath.Join(manifests, "featuregate.json"), []byte(featureGate), 0o600))
	for _, config := range configs {
		r.write(manifests, config)
	}
	launchAndWait(r.t, r.controller, "bootstrap", "--payload-version="+labVersion, "--templates="+filepath.Join(files, "templates"),
		"--manifest-dir="+manifests, "--dest-dir="+out, "--pull-secret="+filepath.Join(files, bootstrapFiles, "machineconfigcontroller-pull-secret"))
	pool, rendered := &mcv1.MachineConfigPool{}, &mcv1.MachineConfig{}
	r.read(filepath.Join(out, "machine-pools", masterPool+".yaml"), pool)
	r.read(filepath.Join(out, "machine-configs", pool.Spec.Configuration.Name+".yaml"), rendered)
	return rendered
}

// write makes a manifest of a config, which is an object or its text.
func (r *rendering) write(dir string, config any) {
	text, ready := config.([]byte)
	if !ready {
		var err error
		text, err = yaml.Marshal(config)
		require.NoError(r.t, err)
	}
	file, err := os.CreateTemp(dir, "*.yaml")
	require.NoError(r.t, err)
	_, err = file.Write(text)
	require.NoError(r.t, err)
	require.NoError(r.t, file.Close())
}

func (r *rendering) read(file string, to any) {
	r.t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(r.t, err)
	require.NoError(r.t, yaml.Unmarshal(text, to))
}

// nodeFile is a file as a config has it, whatever the form in the document.
type nodeFile struct {
	Text string
	Mode int
}

// contents are the files of a config by their path, those of units among them, and which units are enabled.
func contents(t *testing.T, config []byte) (files map[string]nodeFile, enabled map[string]bool) {
	t.Helper()
	var c ignition.Config
	require.NoError(t, json.Unmarshal(config, &c))
	files, enabled = map[string]nodeFile{}, map[string]bool{}
	for _, f := range c.Storage.Files {
		data := &dataurl.DataURL{}
		if f.Contents.Source != nil {
			var err error
			data, err = dataurl.DecodeString(*f.Contents.Source)
			require.NoError(t, err, f.Path)
			require.Empty(t, deref(f.Contents.Compression), f.Path)
		}
		files[f.Path] = nodeFile{Text: string(data.Data), Mode: deref(f.Mode)}
	}
	for _, u := range c.Systemd.Units {
		at := path.Join(host.UnitDir, u.Name)
		if text := deref(u.Contents); text != "" {
			files[at] = nodeFile{Text: text, Mode: 0o644}
			enabled[u.Name] = deref(u.Enabled)
		}
		for _, d := range u.Dropins {
			files[path.Join(at+".d", d.Name)] = nodeFile{Text: deref(d.Contents), Mode: 0o644}
		}
	}
	return files, enabled
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// overlayConfig, relocationConfig and documentConfig are the product's own MachineConfigs.
func overlayConfig(t *testing.T) *mcv1.MachineConfig {
	t.Helper()
	config, err := machineconfig.DefaultOverlay().MachineConfig(masterPool)
	require.NoError(t, err)
	return config
}

func relocationConfig(t *testing.T) *mcv1.MachineConfig {
	t.Helper()
	text, err := factory.MachineConfig{Internal: netip.MustParsePrefix("192.168.126.2/24"), Role: masterPool, Hint: true}.Render()
	require.NoError(t, err)
	config := &mcv1.MachineConfig{}
	require.NoError(t, yaml.UnmarshalStrict(text, config))
	return config
}

func documentConfig(t *testing.T, policy, document string) *mcv1.MachineConfig {
	t.Helper()
	config, err := machineconfig.Document(masterPool, policy, []byte(document))
	require.NoError(t, err)
	return config
}

// TestMachineConfigsOfOursAreRenderedUnchanged has upstream's controller merge the product's MachineConfigs with its own: each file and
// unit arrives as it was given, and a policy finds its document again.
func TestMachineConfigsOfOursAreRenderedUnchanged(t *testing.T) {
	const policy, document = "vlan-100", `{"interfaces":[{"name":"eth1.100","type":"vlan","state":"up","vlan":{"base-iface":"eth1","id":100}}]}`
	ours := []*mcv1.MachineConfig{documentConfig(t, policy, document), overlayConfig(t), relocationConfig(t)}
	r := newRendering(t)
	without := r.render()
	with := r.render(ours[0], ours[1], ours[2])
	files, enabled := contents(t, with.Spec.Config.Raw)
	compared := 0
	for _, config := range ours {
		wantFiles, wantEnabled := contents(t, config.Spec.Config.Raw)
		for path, want := range wantFiles {
			require.Equal(t, want, files[path], "%s of %s", path, config.Name)
			compared++
		}
		for name, want := range wantEnabled {
			require.Equal(t, want, enabled[name], "%s of %s", name, config.Name)
		}
	}
	t.Logf("%d files and units of 3 MachineConfigs arrive in %s", compared, with.Name)
	require.NotEqual(t, without.Name, with.Name)
	for config, want := range map[*mcv1.MachineConfig]bool{with: true, without: false} {
		carries, err := machineconfig.Carries(config.Spec.Config.Raw, policy, []byte(document))
		require.NoError(t, err)
		require.Equal(t, want, carries, config.Name)
	}
}
