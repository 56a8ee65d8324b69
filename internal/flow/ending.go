package flow

import "errors"

// Ending is what the error of a run means for the operation.
type Ending string

// The endings of a run.
const (
	EndingFinished Ending = "finished"
	// EndingLeaving: the node goes down, and the operation continues after the reboot.
	EndingLeaving    Ending = "leaving"
	EndingRolledBack Ending = "rolled back"
	// EndingGivenUp: a plan past its commit point was begun too often. What it has done stays, the rest is not done.
	EndingGivenUp Ending = "given up"
	// EndingUnreadable: a version of this program that reads the journal continues.
	EndingUnreadable Ending = "unreadable"
	// EndingInterrupted: the next run continues, or rolls back what this one could not.
	EndingInterrupted Ending = "interrupted"
)

// endingTable says what the error of a run means; the first row that matches decides. An error that no row matches has
// interrupted the run.
var endingTable = []struct {
	when func(error, *FailedError) bool
	then Ending
}{
	{func(err error, _ *FailedError) bool { return err == nil }, EndingFinished},
	{func(err error, _ *FailedError) bool { return errors.Is(err, ErrLeaving) }, EndingLeaving},
	{func(_ error, failed *FailedError) bool { return failed.RolledBack }, EndingRolledBack},
	{func(err error, failed *FailedError) bool { return failed.Committed && errors.Is(err, ErrUnreadable) }, EndingUnreadable},
	{func(err error, failed *FailedError) bool { return failed.Committed && errors.Is(err, ErrGivenUp) }, EndingGivenUp},
}

// EndingOf reads the table.
func EndingOf(err error) Ending {
	failed := &FailedError{}
	errors.As(err, &failed)
	for _, row := range endingTable {
		if row.when(err, failed) {
			return row.then
		}
	}
	return EndingInterrupted
}

// Ended reports whether the operation is over: no later run has anything to do.
func (e Ending) Ended() bool {
	return e == EndingFinished || e == EndingRolledBack || e == EndingGivenUp
}

// Final reports whether another run now would change nothing.
func (e Ending) Final() bool { return e != EndingInterrupted }
