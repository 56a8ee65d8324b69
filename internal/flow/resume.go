package flow

// Position is how far a plan is, according to the journal.
type Position string

// The positions a plan can be found in.
const (
	Fresh       Position = "fresh"        // never begun
	Underway    Position = "underway"     // begun, not ended; perhaps inside a step
	StepFailed  Position = "step-failed"  // a step failed and nothing was decided yet
	RollingBack Position = "rolling-back" // undoing was under way
	Finished    Position = "finished"
	RolledBack  Position = "rolled-back"
	Unknown     Position = "unknown" // the journal holds entries that this version does not know
)

// Action is what a new run does.
type Action string

// The actions a new run can take.
const (
	Begin    Action = "begin"
	Continue Action = "continue" // each step decides by its Check
	RollBack Action = "roll back"
	Nothing  Action = "nothing"
	GiveUp   Action = "give up"
)

// Place is everything that decides how to resume.
type Place struct {
	Position  Position
	Committed bool
	// SameBoot: the node has not rebooted since the plan was begun.
	SameBoot bool
	// Attempts counts the runs begun so far.
	Attempts int
	// Step is the last one the journal names, Failure the last error.
	Step, Failure string
}

// rule is one row of the resume table; the first that matches decides.
type rule struct {
	when func(Place, Plan) bool
	then Action
}

func atPosition(positions ...Position) func(Place, Plan) bool {
	return func(pl Place, _ Plan) bool {
		for _, p := range positions {
			if pl.Position == p {
				return true
			}
		}
		return false
	}
}

func bothTrue(a, b func(Place, Plan) bool) func(Place, Plan) bool {
	return func(pl Place, p Plan) bool { return a(pl, p) && b(pl, p) }
}

func isCommitted(pl Place, _ Plan) bool { return pl.Committed }
func isExhausted(pl Place, p Plan) bool { return p.MaxAttempts > 0 && pl.Attempts >= p.MaxAttempts }
func isStranded(pl Place, p Plan) bool  { return !pl.SameBoot && !p.AcrossBoots }
func forwardOnly(_ Place, p Plan) bool {
	return p.Commit == FromStart && !p.Urgent // an urgent plan repeats every step
}

// resumeTable decides how to resume from any place. A place that no row matches is rolled back.
var resumeTable = []rule{
	{atPosition(Fresh), Begin},
	{atPosition(Finished, RolledBack), Nothing},
	{bothTrue(atPosition(Unknown), forwardOnly), GiveUp},
	{bothTrue(isCommitted, isExhausted), GiveUp},
	{isCommitted, Continue},
	{atPosition(RollingBack, StepFailed, Unknown), RollBack},
	{isExhausted, RollBack},
	{isStranded, RollBack},
	{atPosition(Underway), Continue},
}

// Resume reads the table.
func Resume(pl Place, p Plan) Action {
	for _, r := range resumeTable {
		if r.when(pl, p) {
			return r.then
		}
	}
	return RollBack
}

// Locate finds how far a plan is. readable is false when the journal could not be read to its end.
func Locate(p Plan, entries []Entry, boot string, readable bool) Place {
	pl := Place{Position: Fresh, SameBoot: true}
	for _, e := range entries {
		if e.Flow == p.Name {
			pl.applyEntry(p, e, boot)
		}
	}
	if !readable {
		pl.Position = Unknown
	}
	if p.Commit == FromStart && pl.Position != Fresh {
		pl.Committed = true
	}
	return pl
}

var positionAfter = map[Kind]Position{
	KindBegin: Underway, KindIntent: Underway, KindDone: Underway, KindSkipped: Underway,
	KindCommitted: Underway, KindFailed: StepFailed, KindFinished: Finished,
	KindUndo: RollingBack, KindUndone: RollingBack, KindUndoFailed: RollingBack,
	KindRolledBack: RolledBack,
}

func (pl *Place) applyEntry(p Plan, e Entry, boot string) {
	if e.Kind == KindNote || pl.Position == Unknown {
		return
	}
	next, known := positionAfter[e.Kind]
	if !known || e.Step != "" && p.stepIndex(e.Step) == 0 {
		pl.Position = Unknown
		return
	}
	if e.Kind == KindBegin {
		pl.Attempts++
		if pl.Position == RollingBack || pl.Position == StepFailed {
			next = pl.Position // a run that only continued to roll back
		}
	}
	pl.Committed = pl.Committed || e.Kind == KindCommitted
	pl.SameBoot = e.Boot == boot
	pl.Position = next
	if e.Step != "" {
		pl.Step = e.Step
	}
	if e.Kind == KindFailed {
		pl.Failure = e.Error
	}
}
