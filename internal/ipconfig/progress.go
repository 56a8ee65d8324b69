package ipconfig

import (
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// FlowProgress is what a journal says of one flow.
type FlowProgress struct {
	Begun     bool
	Attempts  int
	Started   time.Time
	Ended     time.Time // zero while it runs
	Committed bool
	Finished  bool
	// TakenBack: undone to the last step.
	TakenBack bool
	// Failure is the last error; empty when a later try went well.
	Failure string
	// Step is the step under way or the last one, n of m.
	Step         string
	Title        string
	Index, Total int
	StepStarted  time.Time
}

// Running says that the flow was begun and has not ended.
func (f FlowProgress) Running() bool { return f.Begun && f.Ended.IsZero() }

// Progress is an operation as its journal tells it: what status is projected from.
type Progress struct {
	Operation string
	// Cause of the rollback, if there was one: the message of its note.
	Cause string
	// Recert is what recert did, in a sentence; empty until it has.
	Recert   string
	Deadline time.Time
	PrePivot, PostPivot,
	Rollback, Cleanup FlowProgress
	// Latest is the flow that had a step last.
	Latest string
	// Timeline is every step that ended, in order.
	Timeline []StepRecord
}

// StepRecord is one line of the timeline.
type StepRecord struct {
	Flow, Step, Title string
	// Index of Total is the step's place in its flow.
	Index, Total int
	Ended        time.Time
	Took         time.Duration
	Kind         flow.Kind
	Error        string
}

// Project turns journal entries into progress.
func Project(operation string, entries []flow.Entry) Progress {
	p := Progress{Operation: operation}
	for _, e := range entries {
		p.see(e)
	}
	return p
}

func (p *Progress) see(e flow.Entry) {
	if e.Deadline != nil {
		p.Deadline = *e.Deadline
	}
	if e.Kind == flow.KindNote {
		switch {
		case e.Flow == FlowRollback:
			p.Cause = e.Message
		case e.Flow == FlowPostPivot && strings.HasPrefix(e.Message, recertPrefix):
			p.Recert = e.Message
		}
		return
	}
	if f := p.Flow(e.Flow); f != nil {
		f.see(e)
		if e.Step != "" {
			p.Latest = e.Flow
		}
	}
	switch e.Kind {
	case flow.KindDone, flow.KindFailed, flow.KindUndone, flow.KindUndoFailed:
		p.Timeline = append(p.Timeline, StepRecord{
			Flow: e.Flow, Step: e.Step, Title: e.Title, Index: e.Index, Total: e.Total, Ended: e.Time, Kind: e.Kind,
			Took: time.Duration(e.TookMS) * time.Millisecond, Error: e.Error,
		})
	}
}

// Flow is the part of the progress that is of the named flow; nil for a name it does not know.
func (p *Progress) Flow(name string) *FlowProgress {
	switch name {
	case FlowPrePivot:
		return &p.PrePivot
	case FlowPostPivot:
		return &p.PostPivot
	case FlowRollback:
		return &p.Rollback
	case FlowCleanup:
		return &p.Cleanup
	}
	return nil
}

func (f *FlowProgress) see(e flow.Entry) {
	switch e.Kind {
	case flow.KindBegin:
		if !f.Begun {
			f.Started = e.Time
		}
		f.Begun, f.Finished, f.TakenBack, f.Ended = true, false, false, time.Time{}
		f.Attempts, f.Total = e.Attempt, e.Total
	case flow.KindIntent:
		f.Step, f.Title, f.Index, f.Total, f.StepStarted = e.Step, e.Title, e.Index, e.Total, e.Time
	case flow.KindDone, flow.KindSkipped:
		f.Step, f.Title, f.Index = e.Step, e.Title, e.Index
		f.Failure = ""
	case flow.KindFailed, flow.KindUndoFailed:
		f.Failure = fmt.Sprintf("%s: %s", e.Step, e.Error)
	case flow.KindUndo:
		if f.Failure == "" && e.Error != "" {
			f.Failure = e.Error
		}
	case flow.KindCommitted:
		f.Committed = true
	case flow.KindFinished:
		f.Finished, f.Ended, f.Failure = true, e.Time, ""
	case flow.KindRolledBack:
		f.TakenBack, f.Ended = true, e.Time
	}
}

// Causes of a rollback, as they begin the note that a rollback leaves.
const (
	CauseRequested = "requested"
	CauseAutomatic = "automatic rollback: "
	CauseWatchdog  = "Rollback due to LCA Init Monitor timeout, after "
)

// Automatic says whether the node went back without being asked.
func (p Progress) Automatic() bool {
	return strings.HasPrefix(p.Cause, CauseAutomatic) || strings.HasPrefix(p.Cause, CauseWatchdog)
}
