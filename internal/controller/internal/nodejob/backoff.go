package nodejob

import (
	"fmt"
	"time"
)

const (
	// The pause before the second attempt, which doubles with each, and its limit.
	firstPause = 10 * time.Second
	maxPause   = 5 * time.Minute

	// A controller observes again at the next attempt, within these bounds.
	minWait = time.Second
	maxWait = 30 * time.Second
)

// Backoff spaces out attempts at a job. The zero value is ready. It is not persisted: a restart only retries sooner.
type Backoff struct {
	attempts int
	due      time.Time
	// Failure is why the last attempt failed, reported while the next one runs.
	Failure string
}

// Ready says whether another attempt may begin.
func (b *Backoff) Ready(now time.Time) bool { return !now.Before(b.due) }

// Begin counts an attempt and sets when the next one may follow.
func (b *Backoff) Begin(now time.Time) {
	pause := firstPause << min(b.attempts, 10)
	b.attempts++
	b.due = now.Add(min(pause, maxPause))
}

// Begun says whether there was an attempt.
func (b *Backoff) Begun() bool { return b.attempts > 0 }

// Due is when the next attempt may begin.
func (b *Backoff) Due() time.Time { return b.due }

// Reset forgets all attempts.
func (b *Backoff) Reset() { *b = Backoff{} }

// Outlook says which attempt failed and when the next one follows. It is empty before the first attempt.
func (b *Backoff) Outlook(now time.Time) string {
	switch {
	case b.attempts == 0:
		return ""
	case b.Ready(now):
		return fmt.Sprintf("; attempt %d failed, retrying now", b.attempts)
	}
	return fmt.Sprintf("; attempt %d failed, next attempt at %s", b.attempts, b.due.UTC().Format(time.RFC3339))
}

// InProgress names the attempt that runs, if it is not the first.
func (b *Backoff) InProgress() string {
	if b.attempts < 2 {
		return ""
	}
	return fmt.Sprintf("; attempt %d in progress", b.attempts)
}

// Wait is how long to wait before observing again.
func (b *Backoff) Wait(now time.Time) time.Duration {
	return min(max(b.due.Sub(now), minWait), maxWait)
}
