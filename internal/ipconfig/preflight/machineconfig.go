package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// Owned is a file of the node's MachineConfig that a change may write.
type Owned struct {
	File, MachineConfig string
	// Profile says that it is a network profile; Interface is the one that it is for, empty for any.
	Profile   bool
	Interface string
}

// errNoMachineConfig says that nothing owns files on this node.
var errNoMachineConfig = errors.New("not applicable: the node has no " + host.MachineConfig)

// ownedFiles are the files of the node's MachineConfig, as far as changes write such files.
func ownedFiles(files host.Files) (out []Owned, err error) {
	config, err := bringup.ReadMachineConfig(files)
	if err != nil {
		return nil, err
	}
	if config.Owned == nil {
		return nil, errNoMachineConfig
	}
	written := []string{
		host.DnsmasqOverrides, host.DnsmasqFilter,
		path.Join(host.UnitDir, ipconfig.UnitIPConfiguration), path.Join(host.UnitDir, ipconfig.UnitInitMonitor),
	}
	for _, file := range slices.Sorted(maps.Keys(config.Owned)) {
		o := Owned{File: file, MachineConfig: config.Name, Profile: path.Dir(file) == host.NMConnections}
		if o.Profile {
			o.Interface = profileInterface(files, file)
		}
		if o.Profile || slices.Contains(written, file) {
			out = append(out, o)
		}
	}
	return out, nil
}

// profileInterface is the interface of a NetworkManager profile, nm-settings-keyfile(5).
func profileInterface(files host.Files, file string) string {
	text, err := files.Read(file)
	if err != nil {
		return ""
	}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		if name, found := strings.CutPrefix(line, "interface-name="); found && section == "[connection]" {
			return name
		}
	}
	return ""
}

func checkMachineConfig(spec lcav1.IPConfigSpec, f Facts) (string, string) {
	var found []string
	name := ""
	for _, o := range f.Owned {
		switch {
		case o.Profile && !mayAffectUplink(o.Interface, f.Current), o.File == host.DnsmasqFilter && spec.DNSFilterOutFamily == "":
		default:
			found, name = append(found, o.File), o.MachineConfig
		}
	}
	if len(found) == 0 {
		return "", ""
	}
	return fmt.Sprintf("MachineConfig %s owns what the change writes: %s", name, strings.Join(found, ", ")),
		"take the files out of the MachineConfig that it was rendered from ('oc get machineconfig -o yaml' shows which): " +
			"a file that is not as it says degrades the node's pool"
}

// mayAffectUplink says whether a profile for the interface may be one for the uplink, what carries it, or a VLAN beside it. A
// profile without an interface fits any.
func mayAffectUplink(iface string, now ipconfig.Current) bool {
	if iface == "" || now.Uplink == "" {
		return true
	}
	carrier := cmp.Or(now.Carrier, now.Uplink)
	return iface == now.Uplink || iface == carrier || strings.HasPrefix(iface, carrier+".")
}
