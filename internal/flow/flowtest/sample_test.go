package flowtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

func TestASampleIsChosenByTheEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		matrix, seed string
		short        bool
		every, steps int
		refused      string
	}{
		"a quarter":          {every: 4},
		"a few, with -short": {short: true, every: 32, steps: 4},
		"all of them":        {matrix: "all", every: 1},
		"all, with -short":   {matrix: "all", short: true, every: 1},
		"another word":       {matrix: "half", refused: `LCA_MATRIX="half": it is all, or it is not set`},
		"a given seed":       {seed: "7", every: 4},
		"no number":          {seed: "x", refused: "LCA_MATRIX_SEED"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sampleOf(c.matrix, c.seed, c.short)
			if c.refused != "" {
				require.ErrorContains(t, err, c.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.every, s.Every)
			require.Equal(t, c.steps, s.Steps)
			if c.seed != "" {
				require.Equal(t, uint64(7), s.Seed)
				require.Contains(t, s.String(), "LCA_MATRIX_SEED=7")
			}
		})
	}
}

func TestARowIsCoveredByItsSamples(t *testing.T) {
	for _, n := range []int{1, 3, 4, 5, 30, 97} {
		seen := map[int]bool{}
		for seed := range uint64(400) {
			s := Sample{Seed: seed, Every: 4}
			points := slices.Collect(s.Of("row", n))
			require.NotEmpty(t, points, "%d points, seed %d", n, seed)
			require.LessOrEqual(t, len(points), n/4+1)
			require.Equal(t, points, slices.Collect(s.Of("row", n)), "the same seed chooses the same points")
			for _, p := range points {
				seen[p] = true
			}
		}
		require.Len(t, seen, n, "every point is in a sample")
		require.Len(t, slices.Collect(Sample{Every: 1}.Of("row", n)), n)
	}
	require.Empty(t, slices.Collect(Sample{Every: 1}.Of("row", 0)))
}

func TestPointsPlaysEachChosenPointOnce(t *testing.T) {
	t.Setenv(MatrixVar, "all")
	var mu sync.Mutex
	played := map[int]int{}
	Points(t, 9, func(_ *testing.T, point int) {
		mu.Lock()
		defer mu.Unlock()
		played[point]++
	})
	require.Equal(t, map[int]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 8: 1}, played)
}

// toy is a world whose steps have as many effects as effects says.
type toy struct {
	effects map[string]int
	mu      sync.Mutex
	cells   []string
}

// life is one life in it.
type life struct {
	*toy
	bomb  *Bomb
	fatal int // the effect that kills; 0 for none
}

type death struct{}

func (l *life) Live(bomb *Bomb) (err error) {
	l.bomb = bomb
	bomb.Kill = func() { panic(death{}) }
	bomb.ArmInside = func(n int) func() {
		l.fatal = n
		return func() { l.fatal = 0 }
	}
	defer func() {
		if _, died := recover().(death); died {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.cells = append(l.cells, bomb.Crash.Step+" "+bomb.Crash.describePlace())
		}
	}()
	for _, s := range bomb.In(l.plan()).Steps {
		if s.Name != "never" {
			err = s.Do(context.Background())
		}
	}
	return err
}

func (l *life) Judge() (string, error) { return l.bomb.Crash.Step, nil }
func (l *life) Again() error           { return nil }

func (l *life) plan() flow.Plan {
	p := flow.Plan{Name: "toy"}
	for step, n := range l.effects {
		p.Steps = append(p.Steps, flow.Step{Name: step, Do: func(context.Context) error {
			for range n {
				if l.fatal--; l.fatal == 0 {
					panic(death{})
				}
			}
			return nil
		}})
	}
	return p
}

func (w *toy) world(*testing.T) World { return &life{toy: w} }

func (w *toy) play(t *testing.T, s Sample) Result {
	w.cells = nil
	return newMatrix(s, w.world).playPlans(t, []flow.Plan{(&life{toy: w}).plan()})
}

func TestAMatrixPlaysEveryCellOnce(t *testing.T) {
	w := &toy{effects: map[string]int{"none": 0, "one": 1, "many": 9}}
	res := w.play(t, Sample{Every: 1})
	require.Equal(t, Result{Cells: 16, Verdicts: map[string]int{"none": 2, "one": 3, "many": 11}}, res)
	require.Len(t, w.cells, 16)
	slices.Sort(w.cells)
	require.Len(t, slices.Compact(w.cells), 16, "none twice")
}

// A short run meets one step in four, and with other seeds other ones.
func TestAShortSampleMeetsSomeSteps(t *testing.T) {
	w := &toy{effects: map[string]int{"a": 0, "b": 1, "c": 3, "d": 2, "e": 1}}
	seen := map[string]bool{}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			res := w.play(t, Sample{Seed: seed, Every: 32, Steps: 4})
			require.NotEmpty(t, res.Verdicts)
			require.LessOrEqual(t, len(res.Verdicts), 2)
			for step := range res.Verdicts {
				seen[step] = true
			}
		})
	}
	require.Len(t, seen, 5)
}

// Whatever the seed, a sample meets every step; all seeds together meet every cell.
func TestASampleOfAMatrixMeetsEveryStep(t *testing.T) {
	w := &toy{effects: map[string]int{"none": 0, "one": 1, "few": 3, "many": 20}}
	seen := map[string]bool{}
	for seed := range uint64(100) {
		for _, every := range []int{4, 32} {
			t.Run(fmt.Sprintf("seed %d, 1 in %d", seed, every), func(t *testing.T) {
				res := w.play(t, Sample{Seed: seed, Every: every})
				for step := range w.effects {
					require.Positive(t, res.Verdicts[step], step)
				}
				require.Less(t, res.Cells, 16)
				for _, c := range w.cells {
					seen[c] = true
				}
			})
		}
	}
	require.Len(t, seen, 4*2+24)
}

// A sample fails where a step is never reached, whichever cell it begins with. The failure is that of a second process.
func TestAStepThatIsNeverReached(t *testing.T) {
	const inside = "FLOWTEST_NEVER"
	if os.Getenv(inside) != "" {
		Matrix(t, []flow.Plan{{Name: "toy", Steps: []flow.Step{{Name: "never"}}}}, (&toy{effects: map[string]int{"never": 1}}).world)
		return
	}
	for seed := range 8 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAStepThatIsNeverReached$")
		cmd.Env = append(os.Environ(), inside+"=1", fmt.Sprintf("%s=%d", SeedVar, seed))
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "seed %d", seed)
		require.Contains(t, string(out), "the step was never reached")
		require.Contains(t, string(out), fmt.Sprintf("%s=%d", SeedVar, seed), "the log has the seed")
	}
}
