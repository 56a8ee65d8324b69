package systemd

import (
	"context"
	"fmt"
	"time"
)

// lookAgain is how often a job is looked for whose end may have been missed: the signal that
// tells it is lost when the message bus restarts.
const lookAgain = 2 * time.Second

// runJob enqueues a job and waits for its end. An end by the context leaves the job to systemd.
func (m *Manager) runJob(ctx context.Context, unit string, enqueue func(done chan<- string) (int, error)) error {
	done := make(chan string, 1) // the library's dispatcher must never wait for us
	id, err := enqueue(done)
	if err != nil {
		return err
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for missed := false; ; {
		select {
		case result := <-done:
			return m.jobError(ctx, unit, result)
		case <-ctx.Done():
			return fmt.Errorf("waiting for its job: %w", context.Cause(ctx))
		case <-tick.C:
			if missed {
				return m.checkUnit(ctx, unit)
			}
			missed = !m.isQueued(ctx, unit, id)
		}
	}
}

// jobError turns a job's result into an error that says what became of the unit.
func (m *Manager) jobError(ctx context.Context, unit, result string) error {
	if result == "done" {
		return nil
	}
	s, err := m.State(ctx, unit)
	if err != nil {
		return fmt.Errorf("job ended as %q", result)
	}
	return fmt.Errorf("job ended as %q; the unit is %s (%s), result %s, exit code %d",
		result, s.Active, s.Sub, s.Result, s.ExitCode)
}

// isQueued says whether the unit still has the job. In doubt it has.
func (m *Manager) isQueued(ctx context.Context, unit string, id int) bool {
	conn, err := m.connect()
	if err != nil {
		return true
	}
	prop, err := conn.GetUnitPropertyContext(ctx, unit, "Job")
	if err != nil {
		return true
	}
	job, ok := prop.Value.Value().([]any)
	if !ok || len(job) == 0 {
		return true
	}
	current, ok := job[0].(uint32)
	return !ok || int(current) == id
}

// checkUnit judges by the unit itself when the job's end was not heard.
func (m *Manager) checkUnit(ctx context.Context, unit string) error {
	s, err := m.State(ctx, unit)
	if err != nil {
		return err
	}
	if s.Active == "failed" {
		return m.jobError(ctx, unit, "failed")
	}
	return nil
}
