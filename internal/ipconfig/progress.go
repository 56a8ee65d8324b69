package ipconfig

import (
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Progress is what the journal says of an IP change; status is a projection of it.
type Progress struct {
	flow.Progress
	// Cause of the rollback, if there was one: the message of its note.
	Cause string
	// Recert is what recert did, in a sentence; empty until it has.
	Recert string
	// DNS is which DNS servers do not serve the new network, in a sentence; empty where all do.
	DNS string
	PrePivot, PostPivot,
	Rollback, Cleanup flow.FlowProgress
}

// Project reads the progress of an IP change from that of any operation.
func Project(p flow.Progress) Progress {
	return Progress{
		Progress: p,
		Cause:    p.LastNote(FlowRollback, nil),
		Recert:   p.LastNote(FlowPostPivot, func(m string) bool { return strings.HasPrefix(m, bringup.RecertNote) }),
		DNS:      p.LastNote(FlowPostPivot, func(m string) bool { return strings.HasPrefix(m, bringup.DNSWarning) }),
		PrePivot: p.Flow(FlowPrePivot), PostPivot: p.Flow(FlowPostPivot),
		Rollback: p.Flow(FlowRollback), Cleanup: p.Flow(FlowCleanup),
	}
}

// ReadProgress reads the operation's journal, and the part that a rollback brought back from the other stateroot.
func ReadProgress(files host.Files, id string) (Progress, error) {
	entries, err := operation.ReadEntries(files, id)
	if err != nil {
		return Progress{}, err
	}
	return Project(flow.Fold(id, entries)), nil
}

// Causes of a rollback, as they begin the note that a rollback leaves.
const (
	CauseRequested = "requested"
	CauseAutomatic = "automatic rollback: "
	CauseWatchdog  = "Rollback due to LCA Init Monitor timeout, after "
)

// Automatic reports whether the node rolled back without a request.
func (p Progress) Automatic() bool {
	return strings.HasPrefix(p.Cause, CauseAutomatic) || strings.HasPrefix(p.Cause, CauseWatchdog)
}
