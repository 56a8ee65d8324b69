package seed

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Progress is what the journal says of an operation of this domain.
type Progress struct {
	flow.Progress
	Create, Restore flow.FlowProgress
}

// ReadProgress reads the operation's journal.
func ReadProgress(files host.Files, id string) (Progress, error) {
	entries, err := operation.ReadEntries(files, id)
	if err != nil {
		return Progress{}, err
	}
	p := flow.Fold(id, entries)
	return Progress{
		Progress: p, Create: p.Flow(FlowCreate), Restore: p.Flow(FlowRestore),
	}, nil
}

// Published reports that the image is in the registry, whatever happened to the steps after it.
func (p Progress) Published() bool { return p.Create.Committed }
