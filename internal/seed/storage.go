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
	source, root := mountedAt(string(text), ContainerStorageDir)
	s := ContainerStorage{Source: source, Own: strings.HasPrefix(path.Clean(root), host.DeployDir+"/")}
	unit, err := files.Read(storageUnit)
	if err != nil || source == "" {
		return s, nil //nolint:nilerr // a mount needs no unit
	}
	for line := range strings.Lines(string(unit)) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "What="); ok {
			s.Source = what
		}
	}
	return s, nil
}

// mountedAt returns the source of the mount at a place, and the folder of the file system that is mounted there; both empty
// where the place is no mount. Format: proc_pid_mountinfo(5).
func mountedAt(mounts, place string) (source, root string) {
	for line := range strings.Lines(mounts) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if found && len(fields) > 4 && len(rest) > 1 && fields[4] == place {
			source, root = rest[1], fields[3] // the last one hides those before
		}
	}
	return source, root
}
