package soak

import (
	"math/rand/v2"
	"slices"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// flow is what an administrator can ask for.
type flow string

const (
	change   flow = "change"
	rollback flow = "rollback"
	final    flow = "final" // stage Idle after a change or a rollback: the other system is removed
)

// usual is about how long each flow takes when nothing happens to it, so that moments fall into all of it. It is a table and not
// measured, so that a seed means the same delays on every run.
var usual = map[machine.Kind]map[flow]time.Duration{
	machine.Nspawn: {change: 26 * time.Second, rollback: 20 * time.Second, final: 6 * time.Second},
	machine.QEMU:   {change: 300 * time.Second, rollback: 200 * time.Second, final: 30 * time.Second},
}

// fewest and most bound how often the power is cut before a node may settle. A dozen are more boots than a change is given to
// prove itself, so some rounds end by the limit of attempts.
var (
	fewest = map[flow]int{change: 3, rollback: 2, final: 0}
	most   = map[flow]int{change: 12, rollback: 6, final: 2}
)

// plan is what one round does: the flow that is asked for, and the delays after which the power goes, each counted from the
// request or from the last time it came back.
type plan struct {
	flow   flow
	delays []time.Duration
}

// draw picks a flow that the node offers, and the moments.
func draw(random *rand.Rand, kind machine.Kind, next []lcav1.IPConfigStage) plan {
	p := plan{flow: final}
	goesBack := random.Float64() < 0.4
	switch {
	case slices.Contains(next, lcav1.StageConfig):
		p.flow = change
	case slices.Contains(next, lcav1.StageRollback) && goesBack:
		p.flow = rollback
	}
	span := usual[kind][p.flow]
	for range fewest[p.flow] + random.IntN(most[p.flow]-fewest[p.flow]+1) {
		p.delays = append(p.delays, time.Duration(random.Float64()*float64(span)))
		// What is left of the flow after a cut is shorter than the whole.
		span = usual[kind][p.flow] / 2
	}
	return p
}
