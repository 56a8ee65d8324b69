package relocation

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

const (
	// PendingFile is what a person, or the watchdog, has asked for and is not done yet.
	PendingFile = Dir + "/pending.json"
	// OlderPendingFile has the same content: a program from before the name changed may have written it.
	OlderPendingFile = Dir + "/wish.json"
)

// What may be pending.
const (
	// PendingRollback is the factory state.
	PendingRollback = "rollback"
	// PendingCancel is the factory's cluster.
	PendingCancel = "cancel"
)

// Pending is pending.json. It is written before anything is done, so that a power cut does not lose it: UnitReconfigure
// carries it out at the next boot, before it waits for a configuration.
type Pending struct {
	Action string    `json:"action"`
	Cause  string    `json:"cause"`
	Asked  time.Time `json:"asked"`
}

// ReadPending loads it; found is false where nothing is pending.
func ReadPending(files host.Files) (p Pending, found bool, err error) {
	for _, name := range []string{PendingFile, OlderPendingFile} {
		err = operation.ReadJSON(files, name, &p)
		if !errors.Is(err, fs.ErrNotExist) {
			return p, err == nil, err
		}
	}
	return Pending{}, false, nil
}

// ForgetPending removes it, under either name.
func ForgetPending(files host.Files) error {
	for _, name := range []string{PendingFile, OlderPendingFile} {
		if err := files.Remove(name); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return nil
}
