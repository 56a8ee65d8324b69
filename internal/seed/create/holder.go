package create

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// Holder is what the lock calls a generation that runs.
func Holder(files host.Files) string {
	if r, err := seed.ReadRequest(files); err == nil {
		return seed.FlowCreate + " " + r.OperationID
	}
	return seed.FlowCreate
}
