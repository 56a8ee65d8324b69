package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Deployment is one bootable operating system of the node, as ostree lists it.
type Deployment struct {
	// Index is the position in boot order; 0 is what the boot loader starts next.
	Index     int    `json:"index"`
	Stateroot string `json:"stateroot"`
	Checksum  string `json:"checksum"`
	// Serial tells deployments of one checksum in one stateroot apart.
	Serial  int  `json:"serial"`
	Booted  bool `json:"booted"`
	Default bool `json:"default"`
}

// ID is ostree's name of the deployment inside its stateroot.
func (d Deployment) ID() string { return fmt.Sprintf("%s.%d", d.Checksum, d.Serial) }

// Dir is the deployment's root directory as seen from the booted system.
func (d Deployment) Dir() string {
	return filepath.Join(StaterootDir(d.Stateroot), "deploy", d.ID())
}

// Origin is the deployment's origin file.
func (d Deployment) Origin() string { return d.Dir() + ".origin" }

// Deployments are the node's ostree deployments and the choice of the default one.
type Deployments interface {
	// List returns all deployments in boot order. Exactly one is Booted.
	List(ctx context.Context) ([]Deployment, error)
	// CanSetDefault returns the reason why the node cannot choose what boots next, if there is one.
	CanSetDefault(ctx context.Context) error
	// KernelArguments are those of the booted system's boot loader entry, without ostree=.
	KernelArguments(ctx context.Context) ([]string, error)
	// Clone deploys the booted commit into the named stateroot, creating it where needed, with the given kernel arguments;
	// without any with those of the booted system. The default is left alone: the clone
	// boots only after SetDefault. An existing clone is returned as it is.
	Clone(ctx context.Context, stateroot string, kernel ...string) (Deployment, error)
	// SetDefault makes the stateroot's first deployment boot next. It is atomic: a power
	// cut leaves the former or the new default, both bootable.
	SetDefault(ctx context.Context, stateroot string) error
	// Choose is SetDefault for exactly this deployment, wherever it is in the boot order.
	Choose(ctx context.Context, d Deployment) error
	// Remove undeploys the stateroot and deletes its directory. It refuses the booted and the
	// default one. A stateroot that does not exist counts as removed. An error that matches ErrHeld means that nothing of it
	// boots any more, and that the directory holds what cannot be removed.
	Remove(ctx context.Context, stateroot string) error
	// Stateroots lists the stateroot directories that exist, deployed or not.
	Stateroots(ctx context.Context) ([]string, error)
}

// ErrHeld marks a directory that a mount, a swap file or the like keeps from being removed.
var ErrHeld = errors.New("held by the running system")

// HasDeployments reports whether the node is an ostree system. A plain one has a single system, which is neither cloned nor chosen.
func HasDeployments(files Files) (bool, error) {
	_, err := files.Stat(DeployDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find out whether this is an ostree system: %w", err)
	}
	return true, nil
}

// Booted picks the deployment the node runs.
func Booted(all []Deployment) (Deployment, error) {
	for _, d := range all {
		if d.Booted {
			return d, nil
		}
	}
	return Deployment{}, fmt.Errorf("none of %d ostree deployments is the booted one", len(all))
}

// Find picks the deployment of that stateroot, checksum and serial: its place in the boot order may have changed.
func Find(all []Deployment, d Deployment) (Deployment, bool) {
	for _, have := range all {
		if have.Stateroot == d.Stateroot && have.ID() == d.ID() {
			return have, true
		}
	}
	return Deployment{}, false
}

// FirstOf picks a stateroot's first deployment in boot order.
func FirstOf(all []Deployment, stateroot string) (Deployment, bool) {
	for _, d := range all {
		if d.Stateroot == stateroot {
			return d, true
		}
	}
	return Deployment{}, false
}
