package flow

import (
	"fmt"
	"slices"
	"time"
)

// Progress is what a journal says of an operation, whatever its flows are called.
type Progress struct {
	Operation string
	// Latest is the flow whose step was written last; empty before the first.
	Latest string
	// Deadline is the last one noted; zero for none.
	Deadline time.Time
	// Timeline is every step that ended, in order.
	Timeline []StepRecord
	// Notes are the facts noted, in order.
	Notes []Note

	order []string
	flows map[string]*FlowProgress
}

// FlowProgress is the progress of one flow.
type FlowProgress struct {
	Begun     bool
	Attempts  int
	Started   time.Time
	Ended     time.Time // zero while it runs
	Committed bool
	Finished  bool
	// RolledBack: every step begun was undone.
	RolledBack bool
	// Failure is the last error; empty when a later try succeeded.
	Failure string
	// Step is the step under way or the last one, Index of Total.
	Step         string
	Title        string
	Index, Total int
	StepStarted  time.Time
	// Boot in which the flow wrote its last entry.
	Boot string
}

// Running reports whether the flow was begun and has not ended.
func (f FlowProgress) Running() bool { return f.Begun && f.Ended.IsZero() }

// StepRecord is one line of the timeline.
type StepRecord struct {
	Flow, Step, Title string
	// Index of Total is the step's place in its flow.
	Index, Total int
	Ended        time.Time
	Took         time.Duration
	Kind         Kind
	Error        string
}

// Note is a fact that a flow left for the reader.
type Note struct{ Flow, Message string }

// Fold turns journal entries into progress.
func Fold(operation string, entries []Entry) Progress {
	p := Progress{Operation: operation, flows: map[string]*FlowProgress{}}
	for _, e := range entries {
		p.addEntry(e)
	}
	return p
}

// Flow is the progress of the named flow; the zero value for one that was never begun.
func (p Progress) Flow(name string) FlowProgress {
	if f := p.flows[name]; f != nil {
		return *f
	}
	return FlowProgress{}
}

// Flows names the flows that the journal holds, in the order in which they first appear.
func (p Progress) Flows() []string { return slices.Clone(p.order) }

// LastNote is the newest message noted for the flow that fits; empty for none. A nil fits takes any.
func (p Progress) LastNote(flow string, fits func(message string) bool) string {
	for _, n := range slices.Backward(p.Notes) {
		if n.Flow == flow && (fits == nil || fits(n.Message)) {
			return n.Message
		}
	}
	return ""
}

// Current is the step under way; false when the last one begun has ended.
func (p Progress) Current() (FlowProgress, bool) {
	f := p.Flow(p.Latest)
	if !f.Running() || f.StepStarted.IsZero() {
		return f, false
	}
	ended := slices.ContainsFunc(p.Timeline, func(t StepRecord) bool {
		return t.Flow == p.Latest && t.Step == f.Step && !t.Ended.Before(f.StepStarted)
	})
	return f, !ended
}

func (p *Progress) addEntry(e Entry) {
	if e.Deadline != nil {
		p.Deadline = *e.Deadline
	}
	if e.Kind == KindNote {
		p.Notes = append(p.Notes, Note{e.Flow, e.Message})
		return
	}
	f := p.flows[e.Flow]
	if f == nil {
		f = &FlowProgress{}
		p.flows[e.Flow], p.order = f, append(p.order, e.Flow)
	}
	f.addEntry(e)
	if e.Step != "" {
		p.Latest = e.Flow
	}
	switch e.Kind {
	case KindDone, KindFailed, KindUndone, KindUndoFailed:
		p.Timeline = append(p.Timeline, StepRecord{
			Flow: e.Flow, Step: e.Step, Title: e.Title, Index: e.Index, Total: e.Total, Ended: e.Time, Kind: e.Kind,
			Took: time.Duration(e.TookMS) * time.Millisecond, Error: e.Error,
		})
	default: // no step ended
	}
}

func (f *FlowProgress) addEntry(e Entry) {
	f.Boot = e.Boot
	switch e.Kind {
	case KindBegin:
		if !f.Begun {
			f.Started = e.Time
		}
		f.Begun, f.Finished, f.RolledBack, f.Ended = true, false, false, time.Time{}
		f.Attempts, f.Total = e.Attempt, e.Total
	case KindIntent:
		f.Step, f.Title, f.Index, f.Total, f.StepStarted = e.Step, e.Title, e.Index, e.Total, e.Time
	case KindDone, KindSkipped:
		f.Step, f.Title, f.Index = e.Step, e.Title, e.Index
		f.Failure = ""
	case KindFailed, KindUndoFailed:
		f.Failure = fmt.Sprintf("%s: %s", e.Step, e.Error)
	case KindUndo:
		if f.Failure == "" && e.Error != "" {
			f.Failure = e.Error
		}
	case KindCommitted:
		f.Committed = true
	case KindFinished:
		f.Finished, f.Ended, f.Failure = true, e.Time, ""
	case KindRolledBack:
		f.RolledBack, f.Ended = true, e.Time
	default: // an undone step and a note leave the flow where it is
	}
}
