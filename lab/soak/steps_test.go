package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLastBefore(t *testing.T) {
	const journals = `{"time":"2026-01-01T10:00:01Z","flow":"pre-pivot","kind":"intent","step":"seal"}
{"time":"2026-01-01T10:00:03Z","flow":"post-pivot","kind":"intent","step":"check-seal"}
{"time":"2026-01-01T10:00:02Z","flow":"pre-pivot","kind":"finished"}
half a li`
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 10, 0, second, 0, time.UTC) }
	for _, c := range []struct {
		name, want string
		on, moment time.Time
	}{
		{"before all", "before the first step", time.Time{}, at(0)},
		{"in a step", "pre-pivot seal intent", time.Time{}, at(1)},
		{"an entry without a step", "pre-pivot finished", at(1), at(2)},
		{"in the other stateroot's journal", "post-pivot check-seal intent", at(2), at(9)},
		{"since the power came back nothing was begun", "booting, after post-pivot check-seal intent", at(4), at(9)},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, lastBefore(journals, c.on, c.moment)) })
	}
}
