package stateroot

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// OwnState says why a second stateroot would not have a state of its own: what a change rewrites lies on a file system
// that both would mount, so that a rollback would not restore it.
func OwnState(files host.Files, stateroot string) error {
	mine, err := deviceOf(files, host.InVar(stateroot, "/var"))
	if err != nil {
		return err
	}
	for _, dir := range []string{"/var", "/var/lib", host.EtcdData, "/var/lib/kubelet", host.StateDir} {
		have, err := deviceOf(files, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if have != mine {
			return fmt.Errorf("%s is a file system of its own and not part of stateroot %s", dir, stateroot)
		}
	}
	return nil
}

// deviceOf is the file system that a folder is on; 0 where the platform does not say.
func deviceOf(files host.Files, dir string) (uint64, error) {
	info, err := files.Stat(dir)
	if err != nil {
		return 0, fmt.Errorf("read the file system of %s: %w", dir, err)
	}
	return deviceNumber(info), nil
}
