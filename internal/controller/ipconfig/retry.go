package ipconfig

import (
	"fmt"
	"time"
)

// Pauses between two tries of the same thing.
const (
	firstPause = 10 * time.Second
	maxPause   = 5 * time.Minute
)

// retry spaces out tries of something that failed. It is the only thing the
// controller remembers; a restart merely tries again sooner.
type retry struct {
	tries int
	due   time.Time
	// why is the last failure, to be told while the next try runs.
	why string
}

func (r *retry) ready(now time.Time) bool { return !now.Before(r.due) }

// began counts a try and sets when the next one may follow.
func (r *retry) began(now time.Time) {
	pause := firstPause << min(r.tries, 10)
	r.tries++
	r.due = now.Add(min(pause, maxPause))
}

// outlook says which try failed and when the next one follows; empty before the first one.
func (r *retry) outlook(now time.Time) string {
	switch {
	case r.tries == 0:
		return ""
	case r.ready(now):
		return fmt.Sprintf("; attempt %d failed, the next one follows now", r.tries)
	}
	return fmt.Sprintf("; attempt %d failed, the next one follows at %s", r.tries, r.due.UTC().Format(time.RFC3339))
}

// underWay says that this is not the first try.
func (r *retry) underWay() string {
	if r.tries < 2 {
		return ""
	}
	return fmt.Sprintf("; attempt %d is under way", r.tries)
}

func (r *retry) reset() { *r = retry{} }

// wait is how long to wait until the next look: until the next try is due, but
// not longer than a person would like to wait for news.
func (r *retry) wait(now time.Time) time.Duration {
	return min(max(r.due.Sub(now), atOnce), atRest)
}
