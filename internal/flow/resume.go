package flow

// Position is where the journal says a plan stands.
type Position string

// The positions a plan can be found in.
const (
	Fresh      Position = "fresh"       // never begun
	Underway   Position = "underway"    // begun, not ended; perhaps inside a step
	StepFailed Position = "step-failed" // a step failed and nothing was decided yet
	TakingBack Position = "taking-back" // undoing was under way
	Finished   Position = "finished"
	RolledBack Position = "rolled-back"
	Unknown    Position = "unknown" // the journal names what this version does not know
)

// Action is what a new run does.
type Action string

// The actions a new run can take.
const (
	Begin    Action = "begin"
	GoOn     Action = "go on" // each step answers for itself: Check, then Do
	TakeBack Action = "take back"
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
	// Step is the last one the journal names.
	Step string
}

// rule is one row of the resume table; the first that matches decides.
type rule struct {
	when func(Place, Plan) bool
	then Action
}

func at(positions ...Position) func(Place, Plan) bool {
	return func(pl Place, _ Plan) bool {
		for _, p := range positions {
			if pl.Position == p {
				return true
			}
		}
		return false
	}
}

func both(a, b func(Place, Plan) bool) func(Place, Plan) bool {
	return func(pl Place, p Plan) bool { return a(pl, p) && b(pl, p) }
}

func committed(pl Place, _ Plan) bool { return pl.Committed }
func exhausted(pl Place, p Plan) bool { return p.MaxAttempts > 0 && pl.Attempts >= p.MaxAttempts }
func stranded(pl Place, p Plan) bool  { return !pl.SameBoot && !p.AcrossBoots }
func forwardOnly(_ Place, p Plan) bool {
	return p.Commit == FromStart && !p.Urgent // an urgent plan does every step again
}
func always(Place, Plan) bool { return true }

// resumeTable says how to go on from any place. What no row knows is taken back.
var resumeTable = []rule{
	{at(Fresh), Begin},
	{at(Finished, RolledBack), Nothing},
	{both(at(Unknown), forwardOnly), GiveUp},
	{both(committed, exhausted), GiveUp},
	{committed, GoOn},
	{at(TakingBack, StepFailed, Unknown), TakeBack},
	{exhausted, TakeBack},
	{stranded, TakeBack},
	{at(Underway), GoOn},
	{always, TakeBack},
}

// Resume reads the table.
func Resume(pl Place, p Plan) Action {
	for _, r := range resumeTable {
		if r.when(pl, p) {
			return r.then
		}
	}
	return TakeBack
}

// Locate finds where a plan stands. readable is false when the journal could
// not be understood to its end.
func Locate(p Plan, entries []Entry, boot string, readable bool) Place {
	pl := Place{Position: Fresh, SameBoot: true}
	for _, e := range entries {
		if e.Flow == p.Name {
			pl.see(p, e, boot)
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
	KindUndo: TakingBack, KindUndone: TakingBack, KindUndoFailed: TakingBack,
	KindRolledBack: RolledBack,
}

func (pl *Place) see(p Plan, e Entry, boot string) {
	if e.Kind == KindNote || pl.Position == Unknown {
		return
	}
	next, known := positionAfter[e.Kind]
	if !known || e.Step != "" && p.index(e.Step) == 0 {
		pl.Position = Unknown
		return
	}
	if e.Kind == KindBegin {
		pl.Attempts++
		if pl.Position == TakingBack || pl.Position == StepFailed {
			next = pl.Position // a run that only went on taking back
		}
	}
	pl.Committed = pl.Committed || e.Kind == KindCommitted
	pl.SameBoot = e.Boot == boot
	pl.Position = next
	if e.Step != "" {
		pl.Step = e.Step
	}
}
