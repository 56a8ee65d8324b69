package stateroot

import (
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// A new boot menu takes some kilobytes on the file system of the stateroots and on that of /boot, also when it only changes
// what boots next. Ballast keeps that room for the way back where either is full by then.
const (
	Ballast     = host.StateDir + "/ballast"
	BootBallast = "/boot/lca-ballast"

	ballastSize     = 1 << 20
	bootBallastSize = 256 << 10
)

// KeepBallast writes the ballast, in a stateroot that does not run yet and in /boot.
func KeepBallast(files host.Files, stateroot string) error {
	for file, size := range map[string]int{host.InVar(stateroot, Ballast): ballastSize, BootBallast: bootBallastSize} {
		if err := files.Write(file, make([]byte, size), 0o600); err != nil {
			return fmt.Errorf("keep room for a rollback in %s: %w", file, err)
		}
	}
	return nil
}

// KeepOwnBallast writes that of a stateroot alone: it is removed with it.
func KeepOwnBallast(files host.Files, stateroot string) error {
	file := host.InVar(stateroot, Ballast)
	if err := files.Write(file, make([]byte, ballastSize), 0o600); err != nil {
		return fmt.Errorf("keep room for a rollback in %s: %w", file, err)
	}
	return nil
}

// DropBallast gives the room free, in the system that runs and in /boot.
func DropBallast(files host.Files) error {
	return errors.Join(files.Remove(Ballast), files.Remove(BootBallast))
}
