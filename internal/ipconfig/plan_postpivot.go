package ipconfig

import (
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// PostPivot finishes the change in the new stateroot.
type PostPivot struct {
	Node    Node
	Request Request
	// Runner journals the plan; what recert did is noted through it.
	Runner *flow.Runner
	// Endless: it never gives up, because nobody wants to be rolled back automatically, or nothing is left to go back
	// to. Whoever repairs what is broken then sees it go on.
	Endless bool
}

// Plan is post-pivot read aloud. It never takes back: a run that fails is gone on with by
// the next, and who gives up goes back to the old stateroot, which nothing here touches.
func (p *PostPivot) Plan() flow.Plan {
	attempts := maxAttemptsPostPivot
	if p.Endless {
		attempts = 0
	}
	return flow.Plan{
		Name: FlowPostPivot, Commit: flow.FromStart, MaxAttempts: attempts, AcrossBoots: true,
		Steps: []flow.Step{
			// Once is enough: later on the cluster may rightly have changed its files.
			{Name: StepCheckSeal, Title: "Check that this is what was prepared", Do: p.checkSeal},
			{Name: StepApplyNetwork, Title: "Apply and prove the new network", Do: p.applyNetwork, Tries: 2, Pause: 5 * time.Second},
			{Name: StepRecert, Title: "Rewrite certificates and cluster state", Do: p.recert, Tries: 2, Pause: 5 * time.Second},
			{Name: StepStartKubelet, Title: "Start the cluster", Do: p.startKubelet, Tries: 2, Pause: 5 * time.Second},
			{Name: StepWaitAPI, Title: "Wait for the API", Check: never, Do: p.waitAPI},
			{Name: StepProveNetwork, Title: "Prove the network under the cluster", Check: never, Do: p.proveBridge},
			{Name: StepWaitNode, Title: "Wait for the node to be Ready", Check: never, Do: p.waitNode},
			{Name: StepRunProbes, Title: "Ask what the user wants answered", Check: never, Do: p.runProbes},
			{Name: StepWipe, Title: "Wipe keys and pull secret", Do: p.wipe},
		},
	}
}
