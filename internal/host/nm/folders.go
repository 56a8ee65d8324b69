package nm

import (
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Where NetworkManager keeps profiles if its configuration does not say otherwise, those until the next boot, and those of packages.
const (
	persistentDir = host.NMConnections
	volatileDir   = "/run/NetworkManager/system-connections"
	packagedDir   = "/usr/lib/NetworkManager/system-connections"
)

// folders are the folders of NetworkManager's profiles on this node. The journal, flushes and the recovery all go by them.
type folders struct {
	// persistent is where NetworkManager writes profiles that are to stay.
	persistent string
	// ephemeral: what is written there ends with the boot, as below an overlay whose upper folder is in memory. A change is then
	// persistent for NetworkManager, and not for the node.
	ephemeral bool
}

// keyfileFolders finds the folders, and whether what is written there stays.
func (n *Network) keyfileFolders() (folders, error) {
	dir, ephemeral, err := host.FindConnectionsDir(n.o.Files)
	return folders{persistent: dir, ephemeral: ephemeral}, err
}

// keyfileDir is where the profiles are that stay.
func (n *Network) keyfileDir() (string, error) {
	dir, _, err := host.FindConnectionsDir(n.o.Files)
	return dir, err
}

// isVolatile says that a profile's file ends with the boot.
func (f folders) isVolatile(path string) bool {
	return strings.HasPrefix(path, volatileDir+"/") || f.ephemeral && strings.HasPrefix(path, f.persistent+"/")
}
