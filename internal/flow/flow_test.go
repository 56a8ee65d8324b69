package flow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// memory is a journal store that survives the death of its process.
type memory struct {
	data []byte
	full bool
	// fullAfter: the disk is full after so many more entries; 0 for never.
	fullAfter int
}

func (m *memory) Read() ([]byte, error) {
	if m.data == nil {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(m.data), nil
}

func (m *memory) Append(b []byte) error {
	if m.full {
		return errors.New("no space left on device")
	}
	m.data = append(m.data, b...)
	if m.fullAfter > 0 {
		m.fullAfter--
		m.full = m.fullAfter == 0
	}
	return nil
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { c.now = c.now.Add(time.Second); return c.now }

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// bench is a plan of three steps whose effects are words in a log.
type bench struct {
	store   *memory
	boot    string
	effects map[string]bool
	calls   []string
	fail    map[string]error
	undoErr map[string]error
}

func newBench() *bench {
	return &bench{store: &memory{}, boot: "boot-1", effects: map[string]bool{}, fail: map[string]error{}, undoErr: map[string]error{}}
}

func (b *bench) step(name string) flow.Step {
	return flow.Step{
		Name: name,
		Do: func(context.Context) error {
			b.calls = append(b.calls, name)
			if err := b.fail[name]; err != nil {
				return err
			}
			b.effects[name] = true
			return nil
		},
		Undo: func(context.Context) error {
			b.calls = append(b.calls, "undo "+name)
			if err := b.undoErr[name]; err != nil {
				return err
			}
			delete(b.effects, name)
			return nil
		},
	}
}

func (b *bench) plan() flow.Plan {
	return flow.Plan{Name: "move", Commit: "flip", Steps: []flow.Step{b.step("prepare"), b.step("flip"), b.step("reboot")}}
}

func (b *bench) run(p flow.Plan) error {
	r := &flow.Runner{Journal: flow.OpenJournal(b.store), Clock: &clock{}, Operation: "op", Boot: b.boot, Log: slog.New(slog.DiscardHandler)}
	return r.Run(context.Background(), p)
}

func (b *bench) kinds(t *testing.T) string {
	entries, err := flow.OpenJournal(b.store).Entries()
	require.NoError(t, err)
	var words []string
	for _, e := range entries {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s", e.Kind, e.Step)))
	}
	return strings.Join(words, ", ")
}

func TestRunDoesEveryStepOnceAndRecordsIt(t *testing.T) {
	b := newBench()
	require.NoError(t, b.run(b.plan()))
	require.NoError(t, b.run(b.plan()), "a second run has nothing to do")
	require.Equal(t, []string{"prepare", "flip", "reboot"}, b.calls)
	require.Equal(t, "begin, intent prepare, done prepare, intent flip, done flip, committed, intent reboot, done reboot, finished", b.kinds(t))
}

func TestFailureBeforeTheCommitPointTakesEverythingBack(t *testing.T) {
	b := newBench()
	b.fail["flip"] = errors.New("disk gone")
	err := b.run(b.plan())
	var failed *flow.FailedError
	require.ErrorAs(t, err, &failed)
	require.True(t, failed.RolledBack)
	require.Equal(t, "flip", failed.Step)
	require.Equal(t, []string{"prepare", "flip", "undo flip", "undo prepare"}, b.calls)
	require.Empty(t, b.effects)

	require.ErrorIs(t, b.run(b.plan()), flow.ErrInterrupted, "a plan that was rolled back stays so")
}

func TestFailureAfterTheCommitPointGoesOnNextTime(t *testing.T) {
	b := newBench()
	b.fail["reboot"] = errors.New("busy")
	var failed *flow.FailedError
	require.ErrorAs(t, b.run(b.plan()), &failed)
	require.True(t, failed.Committed)
	delete(b.fail, "reboot")
	require.NoError(t, b.run(b.plan()))
	require.Equal(t, []string{"prepare", "flip", "reboot", "reboot"}, b.calls)
}

func TestUndoThatFailsIsTriedAgainAndDoesNotStopTheOthers(t *testing.T) {
	b := newBench()
	b.fail["flip"], b.undoErr["flip"] = errors.New("no"), errors.New("still no")
	var failed *flow.FailedError
	require.ErrorAs(t, b.run(b.plan()), &failed)
	require.False(t, failed.RolledBack)
	require.Empty(t, b.effects["prepare"])
	delete(b.undoErr, "flip")
	require.ErrorAs(t, b.run(b.plan()), &failed)
	require.True(t, failed.RolledBack)
	require.Equal(t, []string{"prepare", "flip", "undo flip", "undo prepare", "undo flip"}, b.calls)
}

func TestRebootBeforeTheCommitPointTakesBack(t *testing.T) {
	b := newBench()
	p := b.plan()
	p.Steps[1].Do = func(context.Context) error { panic("power cut") }
	require.Panics(t, func() { _ = b.run(p) })
	b.boot = "boot-2"
	require.ErrorIs(t, b.run(b.plan()), flow.ErrInterrupted)
	require.Empty(t, b.effects)
}

func TestAttemptLimitEndsALoop(t *testing.T) {
	b := newBench()
	p := b.plan()
	p.MaxAttempts, p.AcrossBoots = 3, true
	p.Steps[1].Do = func(context.Context) error { panic("power cut") }
	for n := range 3 {
		b.boot = fmt.Sprint("boot-", n)
		require.Panics(t, func() { _ = b.run(p) })
	}
	require.ErrorIs(t, b.run(p), flow.ErrGivenUp)
	require.Empty(t, b.effects)
}

func TestFullDiskStopsBeforeTheStepAndStillTakesBack(t *testing.T) {
	b := newBench()
	p := b.plan()
	prepare := p.Steps[0].Do
	p.Steps[0].Do = func(ctx context.Context) error { defer func() { b.store.full = true }(); return prepare(ctx) }
	require.ErrorContains(t, b.run(p), "no space left")
	require.Equal(t, []string{"prepare", "undo prepare"}, b.calls)
}

func TestFullDiskAtTheBeginning(t *testing.T) {
	b := newBench()
	b.store.full = true
	var failed *flow.FailedError
	require.ErrorAs(t, b.run(b.plan()), &failed)
	require.True(t, failed.RolledBack, "nothing was begun, so another try is of no use")
	require.Empty(t, b.calls)

	b = newBench()
	p := b.plan()
	p.Steps[1].Do = func(context.Context) error { panic("killed") }
	require.Panics(t, func() { _ = b.run(p) })
	b.store.full = true
	require.ErrorAs(t, b.run(b.plan()), &failed)
	require.True(t, failed.RolledBack, "an interrupted run is rolled back, not repeated for ever")
	require.Equal(t, []string{"prepare", "undo flip", "undo prepare"}, b.calls)
}

func TestFullDiskPastTheCommitPointDoesNotHoldThePlanUp(t *testing.T) {
	b := newBench()
	p := b.plan()
	done := p.Steps[1].Do
	p.Steps[1].Do = func(ctx context.Context) error { b.store.fullAfter = 1; return done(ctx) }
	require.NoError(t, b.run(p))
	require.Equal(t, []string{"prepare", "flip", "reboot"}, b.calls)
	require.Equal(t, "begin, intent prepare, done prepare, intent flip, done flip", b.kinds(t))
}

func TestAnUnreadableJournal(t *testing.T) {
	scrambled := func() *bench {
		b := newBench()
		require.NoError(t, b.run(b.plan()))
		b.store.data = append([]byte("\x00\x00\n"), b.store.data...)
		b.calls = nil
		return b
	}
	b := scrambled()
	var failed *flow.FailedError
	require.ErrorAs(t, b.run(b.plan()), &failed)
	require.Equal(t, []string{"undo reboot", "undo flip", "undo prepare"}, b.calls, "unknown is rolled back")

	b = scrambled()
	p := b.plan()
	p.Commit = flow.FromStart
	require.ErrorIs(t, b.run(p), flow.ErrGivenUp, "what cannot be rolled back is not done over either")
	require.Empty(t, b.calls)
	p.Urgent = true
	require.NoError(t, b.run(p))
	require.Equal(t, []string{"prepare", "flip", "reboot"}, b.calls, "going back does not depend on it")

	b = scrambled()
	r := &flow.Runner{Journal: flow.OpenJournal(b.store), Clock: &clock{}, Operation: "op", Boot: b.boot, Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, r.Abort(t.Context(), b.plan()))
	require.Equal(t, []string{"undo reboot", "undo flip", "undo prepare"}, b.calls)
}

func TestAnUrgentPlanRunsWithoutAJournal(t *testing.T) {
	b := newBench()
	b.store.full = true
	p := b.plan()
	p.Urgent, p.Commit = true, flow.FromStart
	require.NoError(t, b.run(p))
	require.Equal(t, []string{"prepare", "flip", "reboot"}, b.calls)
}

func TestStepIsTriedAgainWithinItsBudget(t *testing.T) {
	b, n := newBench(), 0
	p := b.plan()
	p.Steps[0].Tries, p.Steps[0].Pause = 3, time.Minute
	p.Steps[0].Do = func(context.Context) error {
		if n++; n < 3 {
			return errors.New("not yet")
		}
		return nil
	}
	require.NoError(t, b.run(p))
	require.Equal(t, 3, n)
}

func TestAPermanentErrorIsNotTriedAgain(t *testing.T) {
	b, n := newBench(), 0
	p := b.plan()
	p.Steps[0].Tries = 3
	p.Steps[0].Do = func(context.Context) error { n++; return flow.Permanent(errors.New("dead for good")) }
	require.ErrorContains(t, b.run(p), "prepare: dead for good")
	require.Equal(t, 1, n)
}

func TestTornLastLineIsPassedOverAndWrittenBehind(t *testing.T) {
	b := newBench()
	b.store.data = []byte(`{"v":1,"op":"op","flow":"move","kind":"begin","boot":"boot-1"}` + "\n" + `{"v":1,"op":"o`)
	require.NoError(t, b.run(b.plan()))
	require.Contains(t, b.kinds(t), "finished")
}

func TestJournalOfANewerVersionIsTakenBack(t *testing.T) {
	b := newBench()
	b.store.data = []byte(`{"v":1,"op":"op","flow":"move","kind":"intent","step":"prepare","boot":"boot-1"}` + "\n" + `{"v":9,"kind":"leap"}` + "\n")
	require.ErrorIs(t, b.run(b.plan()), flow.ErrInterrupted)
	require.Equal(t, []string{"undo reboot", "undo flip", "undo prepare"}, b.calls, "the unreadable part may hide any step")
}

func TestResumeTableAnswersEveryPlace(t *testing.T) {
	p := flow.Plan{MaxAttempts: 3}
	cases := []struct {
		place flow.Place
		want  flow.Action
	}{
		{flow.Place{Position: flow.Fresh}, flow.Begin},
		{flow.Place{Position: flow.Finished}, flow.Nothing},
		{flow.Place{Position: flow.RolledBack}, flow.Nothing},
		{flow.Place{Position: flow.Underway, SameBoot: true}, flow.Continue},
		{flow.Place{Position: flow.Underway}, flow.RollBack},
		{flow.Place{Position: flow.Underway, SameBoot: true, Attempts: 3}, flow.RollBack},
		{flow.Place{Position: flow.Underway, Committed: true}, flow.Continue},
		{flow.Place{Position: flow.StepFailed, Committed: true}, flow.Continue},
		{flow.Place{Position: flow.Underway, Committed: true, Attempts: 3}, flow.GiveUp},
		{flow.Place{Position: flow.StepFailed, SameBoot: true}, flow.RollBack},
		{flow.Place{Position: flow.RollingBack, SameBoot: true}, flow.RollBack},
		{flow.Place{Position: flow.Unknown, SameBoot: true}, flow.RollBack},
		{flow.Place{Position: "from the future"}, flow.RollBack},
		{flow.Place{Position: "from the future", SameBoot: true}, flow.RollBack},
	}
	for _, c := range cases {
		require.Equal(t, c.want, flow.Resume(c.place, p), "%+v", c.place)
	}
}

func TestAbortTakesBackWhatWasBegun(t *testing.T) {
	b := newBench()
	p := b.plan()
	p.Steps[1].Do = func(context.Context) error { panic("killed") }
	require.Panics(t, func() { _ = b.run(p) })
	r := &flow.Runner{Journal: flow.OpenJournal(b.store), Clock: &clock{}, Boot: b.boot, Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, r.Abort(context.Background(), b.plan()))
	require.Empty(t, b.effects)
	require.NoError(t, r.Abort(context.Background(), b.plan()), "twice changes nothing")
	require.Equal(t, []string{"prepare", "undo flip", "undo prepare"}, b.calls)
}

func TestLeavingRecordsNothingAndIsDoneAgain(t *testing.T) {
	b, n := newBench(), 0
	p := b.plan()
	p.Steps[2].Do = func(context.Context) error {
		if n++; n == 1 {
			return flow.ErrLeaving
		}
		return nil
	}
	require.ErrorIs(t, b.run(p), flow.ErrLeaving)
	require.NotContains(t, b.kinds(t), "failed")
	b.boot = "boot-2"
	require.NoError(t, b.run(p), "committed: goes on across the reboot")
	require.Equal(t, 2, n)
}

func TestForwardOnlyPlanIsNeverTakenBack(t *testing.T) {
	b := newBench()
	p := b.plan()
	p.Commit, p.MaxAttempts = flow.FromStart, 2
	b.fail["prepare"] = errors.New("no")
	var failed *flow.FailedError
	for range 2 {
		require.ErrorAs(t, b.run(p), &failed)
		require.True(t, failed.Committed)
		require.NotErrorIs(t, failed, flow.ErrGivenUp)
	}
	require.ErrorIs(t, b.run(p), flow.ErrGivenUp)
	require.Equal(t, []string{"prepare", "prepare"}, b.calls)
}

func TestPlanValidation(t *testing.T) {
	do := func(context.Context) error { return nil }
	for want, p := range map[string]flow.Plan{
		"needs a name":           {},
		"two steps are called a": {Name: "p", Steps: []flow.Step{{Name: "a", Do: do}, {Name: "a", Do: do}}},
		"not one of its steps":   {Name: "p", Commit: "z", Steps: []flow.Step{{Name: "a", Do: do}}},
		"something to do":        {Name: "p", Steps: []flow.Step{{Name: "a"}}},
	} {
		require.ErrorContains(t, p.Validate(), want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("{\"v\":1,\"kind\":\"begin\"}\n{\"v\":1"))
	f.Add([]byte("\n\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := flow.Decode(data)
		flow.Locate(flow.Plan{Name: "p"}, entries, "b", err == nil)
	})
}
