// Package requeue says when a controller looks again. Controllers of several waits use it; it imports the standard library only.
package requeue

import "time"

// Sooner is the smaller of two waits, where 0 and less is none: until the next event.
func Sooner(a, b time.Duration) time.Duration {
	if b <= 0 {
		return max(a, 0)
	}
	if a <= 0 {
		return b
	}
	return min(a, b)
}
