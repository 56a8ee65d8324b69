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
	// Once: the new stateroot was to boot once, and the old one after it.
	Once bool
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
		Once:     p.LastNote(FlowPrePivot, isBootNote) == NoteBootsOnce,
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

// How the new stateroot boots, as noted by pre-pivot.
const (
	NoteBootsOnce  = "the new stateroot boots once: until the change is proved, any other boot starts the old one"
	NoteBootsAgain = "the new stateroot boots at each boot, until it is rolled back: "
)

func isBootNote(message string) bool {
	return message == NoteBootsOnce || strings.HasPrefix(message, NoteBootsAgain)
}

// Causes of a rollback, as they begin the note that a rollback leaves.
const (
	CauseRequested = "requested"
	CauseAutomatic = "automatic rollback: "
	// CauseUnproved is of a node that came back because its new system was to boot once.
	CauseUnproved = CauseAutomatic + "the new system did not prove itself before the node started again"
	CauseWatchdog = "Rollback due to LCA Init Monitor timeout, after "
)

// Automatic reports whether the node rolled back without a request.
func (p Progress) Automatic() bool {
	return strings.HasPrefix(p.Cause, CauseAutomatic) || strings.HasPrefix(p.Cause, CauseWatchdog)
}
