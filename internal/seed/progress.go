package seed

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Progress is what the journal says of an operation of this domain.
type Progress struct {
	flow.Progress
	Create, Restore, Finish, Back flow.FlowProgress
}

// ReadProgress reads the operation's journal.
func ReadProgress(files host.Files, id string) (Progress, error) {
	entries, err := operation.ReadEntries(files, id)
	if err != nil {
		return Progress{}, err
	}
	p := flow.Fold(id, entries)
	return Progress{
		Progress: p, Create: p.Flow(FlowCreate), Restore: p.Flow(FlowRestore), Finish: p.Flow(FlowFinish), Back: p.Flow(FlowBack),
	}, nil
}

// Ended reports whether the generation is over, in either way. Create.Finished says that the image is published and the
// cluster runs; Create.RolledBack that it failed, with Create.Failure, and the cluster was started again.
func (p Progress) Ended() bool { return p.Create.Finished || p.Create.RolledBack }

// Published reports that the image is in the registry, whatever happened to the steps after it.
func (p Progress) Published() bool { return p.Create.Committed }

// Interrupted reports that the generation was begun in an earlier boot and has not ended: UnitCreate must be started
// once more, which continues it from the copy where that is complete.
func (p Progress) Interrupted(boot string) bool { return p.Create.Running() && p.Create.Boot != boot }

// Down reports that the cluster is stopped for the capture.
func (p Progress) Down() bool {
	return p.Create.Running() && (p.Create.Step == StepQuiesce || p.Create.Step == StepCapture || p.Create.Step == StepStart)
}
