package seed

import (
	"fmt"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const (
	// ContainerStorageDir is where the container runtime keeps images.
	ContainerStorageDir = "/var/lib/containers"

	// mountInfo is the table of the first process: that of the caller may be of a namespace of its own.
	mountInfo   = "/proc/1/mountinfo"
	storageUnit = host.UnitDir + "/var-lib-containers.mount"
)

// ContainerStorage is what the node has mounted for its containers.
type ContainerStorage struct {
	// Source is What= of the mount unit, or the device where there is no unit; empty where nothing of its own is mounted.
	Source string
	// Own says that it is a folder of the stateroot, which no other stateroot shares.
	Own bool
}

// ReadContainerStorage reads the mount table, and the unit for the name by which the field's readers know the storage.
func ReadContainerStorage(files host.Files) (ContainerStorage, error) {
	text, err := files.Read(mountInfo)
	if err != nil {
		return ContainerStorage{}, fmt.Errorf("read the mount table: %w", err)
	}
	at, mounted := host.MountAt(host.ParseMounts(string(text)), ContainerStorageDir)
	s := ContainerStorage{Source: at.Source, Own: strings.HasPrefix(path.Clean(at.Root), host.DeployDir+"/")}
	unit, err := files.Read(storageUnit)
	if err != nil || !mounted {
		return s, nil //nolint:nilerr // a mount needs no unit
	}
	for line := range strings.Lines(string(unit)) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "What="); ok {
			s.Source = what
		}
	}
	return s, nil
}
