package ipconfig

import (
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// PrePivot prepares the new stateroot while the old one runs, and reboots into it.
type PrePivot struct {
	Node    Node
	Request Request
	Auto    AutoRollback
	// Runner journals the plan; the watchdog's deadline is noted through it.
	Runner *flow.Runner
}

// Plan is pre-pivot read aloud. Nothing of the old system is changed for good before
// flip-default; a power cut up to there boots the old system unchanged.
func (p *PrePivot) Plan() flow.Plan {
	return flow.Plan{
		Name: FlowPrePivot, Commit: StepFlip, MaxAttempts: maxAttemptsPrePivot,
		Steps: []flow.Step{
			{Name: StepCollect, Title: "Collect what the cluster knows", Do: p.collect, Undo: p.uncollect,
				Tries: 3, Pause: 5 * time.Second},
			// What was fetched stays: it does no harm, and the next try has it.
			{Name: StepFetchImage, Title: "Fetch the image that recert runs in, if it does", Do: p.fetchImage,
				Tries: 3, Pause: 5 * time.Second},
			{Name: StepClone, Title: "Deploy the new stateroot", Do: p.clone, Undo: p.unclone},
			{Name: StepCopyLive, Title: "Copy the state while the cluster runs", Do: p.copyLive, Undo: p.uncopy},
			{Name: StepQuiesce, Title: "Stop the cluster", Do: p.quiesce, Undo: p.revive},
			// What follows in the new stateroot needs no undo of its own: it goes with the stateroot.
			{Name: StepCopyFinal, Title: "Copy what changed since", Do: p.copyFinal},
			{Name: StepFurnish, Title: "Furnish the new stateroot", Do: p.furnish},
			{Name: StepUnits, Title: "Install its services", Do: p.installUnits},
			{Name: StepArm, Title: "Arm the watchdog", Do: p.arm},
			{Name: StepSeal, Title: "Flush and seal it", Do: p.seal},
			// From here on the new stateroot alone has the secrets; taking back wipes them there too.
			{Name: StepWipe, Title: "Wipe keys and pull secret here", Do: p.wipe},
			{Name: StepFlip, Title: "Make it the default", Check: p.flipped, Do: p.flip, Undo: p.unflip},
			{Name: StepReboot, Title: "Reboot into it", Do: p.reboot},
		},
	}
}
