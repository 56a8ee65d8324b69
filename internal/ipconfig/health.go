package ipconfig

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Health is health.json: written by post-pivot once network, API server, node and probes are proved, and from then on by the
// agent. It says what the change still waits for.
type Health struct {
	OperationID string `json:"operation-id"`
	// Healthy: the agent has seen the cluster healthy on the new network.
	Healthy bool `json:"healthy"`
	// Missing is what it waits for, in a sentence, since Since.
	Missing string    `json:"missing,omitempty"`
	Since   time.Time `json:"since"`
}

// NotReported is what is missing until the agent has said what is.
const NotReported = "the agent has not reported the cluster's health yet"

// ReadHealth is what the operation waits for; found only once the change was proved.
func ReadHealth(files host.Files, id string) (h Health, found bool, err error) {
	err = operation.ReadJSON(files, HealthFile, &h)
	if errors.Is(err, fs.ErrNotExist) {
		return Health{}, false, nil
	}
	return h, err == nil && h.OperationID == id, err
}

// WriteHealth stores what the operation waits for.
func WriteHealth(files host.Files, h Health) error { return operation.WriteJSON(files, HealthFile, h) }

// Proved says that post-pivot has proved network, API server, node and probes of the operation: its journal or its record of
// health says so. What cannot be read proves nothing.
func Proved(files host.Files, id string) bool {
	if _, found, err := ReadHealth(files, id); err == nil && found {
		return true
	}
	entries, err := operation.ReadEntries(files, id)
	return err == nil && slices.ContainsFunc(entries, func(e flow.Entry) bool {
		return e.Flow == FlowPostPivot && e.Step == StepDisarm
	})
}
