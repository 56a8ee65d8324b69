// Package etcd is the cluster's data on a fake node: etcd's keys in one file, and the recert that rewrites them, native or
// as an image.
//
// It is called by hosttest, which joins the rooms. Tests only: it imports the ports, hosttest/machine and hosttest/files,
// and must not import another room.
package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// NodeName is the name of the cluster's one node.
const NodeName = "node0"

const (
	storeFile = host.EtcdData + "/member/snap/db"
	// storeInUse lies beside the data while the cluster runs and names the stateroot it
	// runs in. Found in another one, it gives away data that was copied while in use.
	storeInUse = host.EtcdData + "/member/wal/in-use"
)

// ErrHotCopy marks etcd data that was copied while etcd wrote to it.
var ErrHotCopy = errors.New("etcd data was copied while in use")

// Member is the cluster's one etcd member.
type Member struct {
	copied CopiedControlPlane
	*machine.Machine
	// batch is how many edits one transaction takes.
	batch int
	// running says that the containers of the cluster run.
	running func() bool
	images  images
}

// New returns the member over the data on the machine's disk.
func New(m *machine.Machine, batch int, running func() bool) *Member {
	return &Member{Machine: m, batch: batch, running: running}
}

// StartEtcd has etcd run on the data of the booted system; it loops where that is damaged.
func (n *Member) StartEtcd() error {
	if _, err := n.Store(""); err != nil {
		return nil
	}
	return n.WriteDurable(storeInUse, machine.Secret(n.Booted.Stateroot))
}

// StopEtcd brings the data to rest.
func (n *Member) StopEtcd() {
	if at, err := n.Resolve(storeInUse, false); err == nil && string(n.Disk.Live[at].Data) == n.Booted.Stateroot {
		n.Disk.Remove(at, true)
	}
}

// RestEtcd is the end of a boot: data that was in use when the power went is at rest now, and etcd recovers it, also from a
// copy that is made from here on. A copy that was made while it was in use still says so.
func (n *Member) RestEtcd() {
	for _, name := range n.Disk.Children(host.DeployDir) {
		at := host.InVar(name, storeInUse)
		if by, err := n.ReadFile(at); err == nil && string(by) == name {
			n.Disk.Remove(at, true)
		}
	}
}

// AddressesIn lists every address that the data of a stateroot mentions, and what is wrong with the data, or "".
func (n *Member) AddressesIn(stateroot string) (addresses []string, problem string) {
	s, err := n.readStore(host.InVar(stateroot, storeFile))
	if err == nil {
		addresses = s.addresses()
	} else if !errors.Is(err, fs.ErrNotExist) {
		problem = err.Error()
	}
	if by, err := n.ReadFile(host.InVar(stateroot, storeInUse)); err == nil && string(by) != stateroot {
		problem = ErrHotCopy.Error()
	}
	return addresses, problem
}

// readStore reads the data at a path as etcd would at its start.
func (n *Member) readStore(p string) (Store, error) {
	var s Store
	data, err := n.ReadFile(p)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("etcd data is corrupt: %w", err)
	}
	return s, nil
}

// Store reads the data below a root ("" is the booted system), which must be at rest, or in use by this very system.
func (n *Member) Store(root string) (Store, error) {
	if by, err := n.ReadFile(path.Join(root, storeInUse)); err == nil && (root != "" || string(by) != n.Booted.Stateroot) {
		return Store{}, ErrHotCopy
	}
	return n.readStore(path.Join(root, storeFile))
}
