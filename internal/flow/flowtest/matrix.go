// Package flowtest generates the crash matrix of a flow: for each step of each
// plan it dies before, inside and after the step, restarts, and judges what is left. GiveUp does the same with steps that
// fail until the flow is given up.
// A run plays a sample of it, which Sample chooses; LCA_MATRIX=all plays all of it.
//
// Tests of domain packages call it. It imports flow and the testing package only.
package flowtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// Where, relative to a step's effect, death comes.
type Where string

// The three places to die. Inside is tried at every single effect of the step.
const (
	Before Where = "before"
	Inside Where = "inside"
	After  Where = "after"
)

// Where, relative to a step's effect, it fails each time until it is repaired.
const (
	FailsBefore Where = "fails-before"
	FailsAfter  Where = "fails-after"
)

// Crash is one cell of the matrix.
type Crash struct {
	Flow, Step string
	Where      Where
	// Effect counts the step's effects from 1; only for Inside.
	Effect int
}

// describePlace is where, relative to the step, death comes.
func (c Crash) describePlace() string {
	if c.Where == Inside {
		return fmt.Sprintf("%s-%d", Inside, c.Effect)
	}
	return string(c.Where)
}

// World is one node living through one operation.
type World interface {
	// Live lets the operation take its course until nothing more happens: it dies once where
	// the bomb says, restarts as the node would, and goes on as the node would.
	Live(bomb *Bomb) error
	// Judge names what the node is now ("old" or "new"), or says what it is between.
	Judge() (string, error)
	// Again changes the node once more, to prove that it still can be.
	Again() error
}

// Bomb kills a world once, at one place.
type Bomb struct {
	Crash Crash
	// Kill ends the process or the node; it does not return.
	Kill func()
	// ArmInside makes the world die at its n-th effect from now; the function
	// it returns calls that off.
	ArmInside func(n int) (disarm func())
	spent     bool
	repaired  bool
}

// Fails says that the bomb has the step fail, and does not kill.
func (b *Bomb) Fails() bool {
	return b != nil && (b.Crash.Where == FailsBefore || b.Crash.Where == FailsAfter)
}

// ErrBroken is what a step fails with until it is repaired.
var ErrBroken = errors.New("broken for the test")

// Spent says whether the bomb went off, or would have: whether its place was reached.
func (b *Bomb) Spent() bool { return b.spent }

// In puts the bomb into a plan. Worlds call it for every plan they run.
func (b *Bomb) In(p flow.Plan) flow.Plan {
	if b == nil || p.Name != b.Crash.Flow {
		return p
	}
	steps := append([]flow.Step(nil), p.Steps...)
	for i := range steps {
		if steps[i].Name == b.Crash.Step {
			steps[i].Do = b.wrapStep(steps[i].Do)
		}
	}
	p.Steps = steps
	return p
}

func (b *Bomb) wrapStep(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if b.Fails() {
			return b.failStep(ctx, do)
		}
		if b.spent {
			return do(ctx)
		}
		switch b.Crash.Where {
		case Before:
			b.spent = true
			b.Kill()
		case Inside:
			disarm := b.ArmInside(b.Crash.Effect)
			b.spent = true
			err := do(ctx)
			b.spent = false // the step has fewer effects than this
			disarm()
			return err
		default: // after the step, below
		}
		err := do(ctx)
		if b.Crash.Where == After {
			b.spent = true
			b.Kill()
		}
		return err
	}
}

func (b *Bomb) failStep(ctx context.Context, do func(context.Context) error) error {
	if b.repaired {
		return do(ctx)
	}
	b.spent = true
	if b.Crash.Where == FailsAfter {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return ErrBroken
}

// Result counts what became of the cells.
type Result struct {
	Cells    int
	Verdicts map[string]int
}

func (r Result) String() string { return fmt.Sprintf("%d crashes survived: %v", r.Cells, r.Verdicts) }

// matrix collects what the cells of one call of Matrix end with.
type matrix struct {
	sample Sample
	world  func(t *testing.T) World
	mu     sync.Mutex
	result Result
}

// Matrix runs the cells for the plans that the sample chooses, each in a world of its own: of each step, or in
// a short run of some, one cell at least whose place is reached. Steps run side by side, so worlds share nothing. It
// returns when all cells have ended.
func Matrix(t *testing.T, plans []flow.Plan, world func(t *testing.T) World) Result {
	t.Helper()
	return newMatrix(ReadSample(t), world).playPlans(t, plans)
}

func newMatrix(s Sample, world func(t *testing.T) World) *matrix {
	return &matrix{sample: s, world: world, result: Result{Verdicts: map[string]int{}}}
}

func (m *matrix) playPlans(t *testing.T, plans []flow.Plan) Result {
	t.Helper()
	for _, p := range plans {
		t.Run(p.Name, func(t *testing.T) {
			for at := range (Sample{Seed: m.sample.Seed, Every: max(1, m.sample.Steps)}).Of(t.Name(), len(p.Steps)) {
				s := p.Steps[at]
				t.Run(s.Name, func(t *testing.T) {
					t.Parallel()
					m.playStep(t, p.Name, s.Name)
				})
			}
		})
	}
	return m.result
}

// playStep plays the chosen cells of a step: before it, after it, at its first effect, its second one, and so on until it
// has no more. How many there are is known at the end only, so where the sample begins behind it, the step itself is
// met before it.
func (m *matrix) playStep(t *testing.T, name, step string) {
	met := false
	for at := m.sample.firstPoint(name + "/" + step); ; at += m.sample.Every {
		c := cellAt(name, step, at)
		if c.Effect > 500 {
			t.Fatalf("%s/%s has more than 500 effects: it is not one step", name, step)
		}
		reached := m.playCell(t, c)
		met = met || reached
		if c.Where == Inside && !reached {
			break
		}
	}
	if !met && !t.Failed() {
		m.playCell(t, Crash{Flow: name, Step: step, Where: Before})
	}
}

// cellAt is the one at a place of a step's row.
func cellAt(name, step string, at int) Crash {
	c := Crash{Flow: name, Step: step, Where: Inside, Effect: at - 1}
	switch at {
	case 0:
		c.Where, c.Effect = Before, 0
	case 1:
		c.Where, c.Effect = After, 0
	}
	return c
}

// Person is a world in which somebody does what a flow that was given up names as the way out.
type Person interface {
	World
	// TakeWayOut is called when the cause is repaired.
	TakeWayOut() error
}

// GiveUp has each step of the plans fail until its flow is given up or rolled back, and repairs it then. Whatever a person
// finds has a way out: the node is whole afterwards, and can be changed again.
func GiveUp(t *testing.T, plans []flow.Plan, world func(t *testing.T) Person) Result {
	t.Helper()
	res := Result{Verdicts: map[string]int{}}
	for _, p := range plans {
		for _, s := range p.Steps {
			for _, where := range []Where{FailsBefore, FailsAfter} {
				giveUp(t, Crash{Flow: p.Name, Step: s.Name, Where: where}, world, &res)
			}
		}
	}
	return res
}

func giveUp(t *testing.T, c Crash, world func(t *testing.T) Person, res *Result) {
	t.Helper()
	t.Run(c.Flow+"/"+c.Step+"/"+c.describePlace(), func(t *testing.T) {
		w, bomb := world(t), &Bomb{Crash: c}
		if err := w.Live(bomb); err != nil {
			t.Fatalf("the node did not settle: %v", err)
		}
		if !bomb.Spent() {
			t.Fatal("the step was never reached")
		}
		bomb.repaired = true
		if err := w.TakeWayOut(); err != nil {
			t.Fatalf("there is no way out: %v", err)
		}
		verdict, err := w.Judge()
		if err != nil {
			t.Fatalf("neither old nor new after the way out: %v", err)
		}
		if err := w.Again(); err != nil {
			t.Fatalf("the node (%s) cannot be changed again: %v", verdict, err)
		}
		res.Cells++
		res.Verdicts[verdict]++
	})
}

// playCell plays one cell and says whether its place was reached.
func (m *matrix) playCell(t *testing.T, c Crash) bool {
	t.Helper()
	reached := false
	t.Run(c.describePlace(), func(t *testing.T) {
		w, bomb := m.world(t), &Bomb{Crash: c}
		if err := w.Live(bomb); err != nil {
			t.Fatalf("the node did not settle: %v", err)
		}
		if reached = bomb.Spent(); !reached {
			if c.Where == Before {
				t.Fatal("the step was never reached")
			}
			return
		}
		verdict, err := w.Judge()
		if err != nil {
			t.Fatalf("neither old nor new: %v", err)
		}
		if err := w.Again(); err != nil {
			t.Fatalf("the node (%s) cannot be changed again: %v", verdict, err)
		}
		m.countVerdict(verdict)
	})
	return reached
}

func (m *matrix) countVerdict(verdict string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Cells++
	m.result.Verdicts[verdict]++
}
