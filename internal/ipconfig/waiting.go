package ipconfig

import (
	"errors"
	"io/fs"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Waiting is waiting.json: what a step of post-pivot waits for, written whenever that changes. It explains a rollback that
// the step itself does not live to explain.
type Waiting struct {
	OperationID string `json:"operation-id"`
	Step        string `json:"step"`
	// Missing is what the step's last try found, in a line, since Since.
	Missing string    `json:"missing"`
	Since   time.Time `json:"since"`
}

// ReadWaiting is what the operation's last wait was for; found only if it had to wait.
func ReadWaiting(files host.Files, id string) (w Waiting, found bool, err error) {
	err = operation.ReadJSON(files, WaitingFile, &w)
	if errors.Is(err, fs.ErrNotExist) {
		return Waiting{}, false, nil
	}
	return w, err == nil && w.OperationID == id, err
}

// WriteWaiting stores what the operation waits for, in the new system and in the old one, which may run again without a word.
func WriteWaiting(files host.Files, old string, w Waiting) error {
	return errors.Join(operation.WriteJSON(files, WaitingFile, w), operation.WriteJSON(files, host.InVar(old, WaitingFile), w))
}
