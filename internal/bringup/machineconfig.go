package bringup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// MachineConfig is the node's current one, as the machine config daemon keeps it on the node. The daemon degrades the
// node's pool when a file is not as it says.
type MachineConfig struct {
	// Name is that of the rendered MachineConfig.
	Name string
	// Owned are the paths of its files, units and drop-ins.
	Owned map[string]bool
	// KernelArguments are those that it adds.
	KernelArguments []string
}

// renderedConfig is the part of the document that is read.
type renderedConfig struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		KernelArguments []string `json:"kernelArguments"`
		Config          struct {
			Storage struct {
				Files []struct {
					Path string `json:"path"`
				} `json:"files"`
			} `json:"storage"`
			Systemd struct {
				Units []struct {
					Name     string  `json:"name"`
					Contents *string `json:"contents"`
					Mask     bool    `json:"mask"`
					DropIns  []struct {
						Name string `json:"name"`
					} `json:"dropins"`
				} `json:"units"`
			} `json:"systemd"`
		} `json:"config"`
	} `json:"spec"`
}

// ReadMachineConfig reads it; one without a file is empty.
func ReadMachineConfig(files host.Files) (MachineConfig, error) {
	data, err := files.Read(host.MachineConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return MachineConfig{}, nil
	}
	if err != nil {
		return MachineConfig{}, fmt.Errorf("read %s: %w", host.MachineConfig, err)
	}
	var doc renderedConfig
	if err := json.Unmarshal(data, &doc); err != nil {
		return MachineConfig{}, fmt.Errorf("decode %s: %w", host.MachineConfig, err)
	}
	return MachineConfig{Name: doc.Metadata.Name, Owned: doc.ownedPaths(),
		KernelArguments: strings.Fields(strings.Join(doc.Spec.KernelArguments, " "))}, nil
}

func (c renderedConfig) ownedPaths() map[string]bool {
	owned := map[string]bool{}
	for _, f := range c.Spec.Config.Storage.Files {
		owned[path.Clean(f.Path)] = true
	}
	for _, u := range c.Spec.Config.Systemd.Units {
		if u.Contents != nil && *u.Contents != "" || u.Mask {
			owned[path.Join(host.UnitDir, u.Name)] = true
		}
		for _, d := range u.DropIns {
			owned[path.Join(host.UnitDir, u.Name+".d", d.Name)] = true
		}
	}
	return owned
}
