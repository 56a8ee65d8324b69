package ipconfig

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// Rollback boots the old stateroot again.
type Rollback struct {
	Node    Node
	Request Request
	// To is the stateroot to go back to.
	To string
	// Cause is what the person who wonders will read; see the Cause constants.
	Cause string
	// FromPostPivot: post-pivot itself rolls back, so its service must not be stopped.
	FromPostPivot bool
}

// Plan is rollback read aloud. Evidence first, because once the old system runs nobody may
// look into the new one; then the flip. There is nothing to take back: a rollback
// that is cut short is gone on with by whoever runs next.
func (r *Rollback) Plan() flow.Plan {
	return flow.Plan{
		Name: FlowRollback, Commit: flow.FromStart, AcrossBoots: true, Urgent: true,
		Steps: []flow.Step{
			{Name: StepStopPostPivot, Title: "Stop the change", Check: never, Do: r.stopOthers},
			{Name: StepEvidence, Title: "Keep the evidence", Do: r.collectEvidence},
			{Name: StepHandBack, Title: "Hand the journal to the old stateroot", Check: never, Do: r.handBack},
			{Name: StepFlipBack, Title: "Make the old stateroot the default", Check: r.flipped, Do: r.flip},
			// Not before the flip: where that cannot be done the change is gone on with, and needs them.
			{Name: StepWipe, Title: "Wipe keys and pull secret", Check: never, Do: r.wipe},
			{Name: StepReboot, Title: "Reboot into it", Check: never, Do: r.reboot},
		},
	}
}
