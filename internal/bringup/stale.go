package bringup

import (
	"fmt"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// staleNetworkState lists what OVN, OVS and Multus must regenerate after an address change.
var staleNetworkState = [...]string{
	"/var/lib/ovn-ic/etc",
	"/etc/cni/multus/certs",
	"/etc/openvswitch/conf.db",
	"/etc/openvswitch/.conf.db.~lock~",
	"/var/lib/openvswitch/conf.db",
	"/var/lib/openvswitch/.conf.db.~lock~",
}

// RemoveNetworkState deletes what OVN, OVS and Multus must regenerate from a system that does not run. It leaves files
// that a MachineConfig owns: deleting them degrades the node's pool.
func RemoveNetworkState(files host.Files, system host.Deployment) error {
	config, err := ReadMachineConfig(files)
	if err != nil {
		return err
	}
	for _, stale := range staleNetworkState {
		root := host.StaterootDir(system.Stateroot)
		if strings.HasPrefix(stale, "/etc/") {
			root = system.Dir()
		}
		if err := removeExcept(files, root, stale, config.Owned); err != nil {
			return fmt.Errorf("remove stale %s: %w", stale, err)
		}
	}
	return nil
}

// removeExcept deletes the tree at root+name, sparing the owned files in it.
func removeExcept(files host.Files, root, name string, owned map[string]bool) error {
	if owned[name] {
		return nil
	}
	if !anyBelow(owned, name) {
		return files.Remove(path.Join(root, name))
	}
	entries, err := files.List(path.Join(root, name))
	if err != nil {
		return fmt.Errorf("list %s: %w", path.Join(root, name), err)
	}
	for _, e := range entries {
		if err := removeExcept(files, root, path.Join(name, e), owned); err != nil {
			return err
		}
	}
	return nil
}

func anyBelow(owned map[string]bool, dir string) bool {
	for f := range owned {
		if strings.HasPrefix(f, dir+"/") {
			return true
		}
	}
	return false
}
