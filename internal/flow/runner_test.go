package flow_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// counted counts how often a store is read.
type counted struct {
	memory
	reads int
}

func (c *counted) Read() ([]byte, error) {
	c.reads++
	return c.memory.Read()
}

func TestARunReadsItsJournalOnce(t *testing.T) {
	b, store := newBench(), &counted{}
	r := &flow.Runner{Journal: flow.OpenJournal(store), Clock: &clock{}, Operation: "op", Boot: b.boot, Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, r.Run(t.Context(), b.plan()))
	require.Equal(t, 1, store.reads)
}

func TestEntriesAreNumberedAcrossProcesses(t *testing.T) {
	b := newBench()
	first := &flow.Runner{Journal: flow.OpenJournal(b.store), Clock: &clock{}, Operation: "op", Boot: b.boot, Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, first.Note("move", "opened early", time.Time{}))
	require.NoError(t, b.run(b.plan()))
	require.NoError(t, first.Note("move", "written late", time.Time{}))
	entries, err := flow.OpenJournal(b.store).Entries()
	require.NoError(t, err)
	for i, e := range entries {
		require.Equal(t, i+1, e.Seq, "%+v", e)
	}
}

// A reader of the journal must see that a step is being undone before anything of it is.
func TestUndoIsJournaledBeforeItBegins(t *testing.T) {
	b := newBench()
	b.fail["flip"] = errors.New("disk gone")
	p := b.plan()
	var seen string
	p.Steps[0].Undo = func(context.Context) error {
		seen = b.kinds(t)
		return nil
	}
	require.Error(t, b.run(p))
	require.Contains(t, seen, "undo flip, undone flip, undo prepare")
}

// A process that is asked to end still rolls back what it began.
func TestAStoppedRunIsRolledBackWithALivingContext(t *testing.T) {
	b := newBench()
	ctx, stop := context.WithCancel(t.Context())
	p := b.plan()
	p.Steps[1].Do = func(ctx context.Context) error { stop(); return ctx.Err() }
	var undone error
	p.Steps[0].Undo = func(ctx context.Context) error { undone = ctx.Err(); return undone }
	r := &flow.Runner{Journal: flow.OpenJournal(b.store), Clock: &clock{}, Operation: "op", Boot: b.boot, Log: slog.New(slog.DiscardHandler)}
	var failed *flow.FailedError
	require.ErrorAs(t, r.Run(ctx, p), &failed)
	require.NoError(t, undone)
	require.True(t, failed.RolledBack)
}

func TestAStepThatNeverSucceedsIsTriedAsOftenAsItSays(t *testing.T) {
	b, tried := newBench(), 0
	p := b.plan()
	p.Steps[0].Tries, p.Steps[0].Pause = 4, time.Minute
	p.Steps[0].Do = func(context.Context) error {
		if tried++; tried > 50 {
			panic("the tries are not counted")
		}
		return errors.New("never")
	}
	require.ErrorContains(t, b.run(p), "never")
	require.Equal(t, 4, tried)
}
