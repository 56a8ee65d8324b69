package factory

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// MachineConfig says what is rendered for a cluster that is not installed yet.
type MachineConfig struct {
	// Internal is the node's own address on br-ex, in the machine network of the install-config.
	Internal netip.Prefix
	// Role is the pool's: master for a single node.
	Role string
	// Hint has kubelet and crio use Internal as the node's address, in the factory and on every site.
	Hint bool
}

// dispatcherFile is run by NetworkManager, which waits for it, before it reports the bridge as up (NetworkManager-dispatcher(8)).
const dispatcherFile = "/etc/NetworkManager/dispatcher.d/pre-up.d/30-lca-internal-address"

const dispatcherText = `#!/bin/sh
# Written by Lifecycle Agent: the node's internal address on ` + host.BridgeExternal + `, whatever the network around it is.
[ "$1" = ` + host.BridgeExternal + ` ] && [ "$2" = pre-up ] || exit 0
read -r address < ` + relocation.InternalFile + `
exec ip address replace "$address" dev "$1"
`

// The parts of a MachineConfig with an Ignition configuration of version 3.2, which every release of OpenShift since 4.7
// takes.
type (
	mcObject struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       mcSpec         `json:"spec"`
	}
	mcSpec struct {
		Config ignition `json:"config"`
	}
	ignition struct {
		Ignition map[string]string  `json:"ignition"`
		Storage  map[string][]mFile `json:"storage"`
		Systemd  map[string][]mUnit `json:"systemd"`
	}
	mFile struct {
		Path      string            `json:"path"`
		Mode      int               `json:"mode"`
		Overwrite bool              `json:"overwrite"`
		Contents  map[string]string `json:"contents"`
	}
	mUnit struct {
		Name     string    `json:"name"`
		Contents string    `json:"contents,omitempty"`
		DropIns  []mDropIn `json:"dropins,omitempty"`
	}
	mDropIn struct {
		Name     string `json:"name"`
		Contents string `json:"contents"`
	}
)

// Render writes the MachineConfig as JSON, which is YAML too. Its units are not enabled: the preparation enables them in the
// system that is shipped, and holds kubelet there.
func (m MachineConfig) Render() ([]byte, error) {
	if err := CheckInternal(m.Internal); err != nil {
		return nil, err
	}
	object := mcObject{
		APIVersion: "machineconfiguration.openshift.io/v1", Kind: "MachineConfig",
		Metadata: map[string]any{
			"name":   "98-" + m.Role + "-lca-relocation",
			"labels": map[string]string{"machineconfiguration.openshift.io/role": m.Role},
		},
		Spec: mcSpec{ignition{
			Ignition: map[string]string{"version": "3.2.0"},
			Storage:  map[string][]mFile{"files": m.ignitionFiles()},
			Systemd:  map[string][]mUnit{"units": m.ignitionUnits()},
		}},
	}
	data, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the MachineConfig: %w", err)
	}
	return append(data, '\n'), nil
}

func (m MachineConfig) ignitionFiles() []mFile {
	files := []mFile{
		ignitionFile(relocation.InternalFile, 0o644, m.Internal.String()+"\n"),
		ignitionFile(dispatcherFile, 0o755, dispatcherText),
	}
	if m.Hint {
		files = append(files, ignitionFile(host.NodeIPHint, 0o644, "KUBELET_NODEIP_HINT="+m.Internal.Masked().Addr().String()+"\n"))
	}
	return files
}

func ignitionFile(at string, mode int, text string) mFile {
	source := "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(text))
	return mFile{Path: path.Clean(at), Mode: mode, Overwrite: true, Contents: map[string]string{"source": source}}
}

func (m MachineConfig) ignitionUnits() []mUnit {
	units := []mUnit{
		{Name: relocation.UnitReconfigure, Contents: relocation.ReconfigureUnit},
		{Name: relocation.UnitPage, Contents: relocation.PageUnit},
	}
	for _, name := range relocation.HeldUnits() {
		units = append(units, mUnit{Name: name, DropIns: []mDropIn{{relocation.HoldDropIn, relocation.HoldText}}})
	}
	return units
}
