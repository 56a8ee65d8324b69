package recert

import (
	"errors"
	"testing"
	"time"
)

// cutAfter is what a run leaves whose power is cut after so many writes.
func cutAfter(t *testing.T, start *world, writes int) *world {
	t.Helper()
	w := start.clone()
	w.budget = writes
	if err := engine(w).Run(t.Context(), configPath); !errors.Is(err, errPowerCut) {
		t.Fatalf("cut after %d writes: %v", writes, err)
	}
	w.budget = -1
	return w
}

// requireAtRest says that one more run, at that time, has nothing to write.
func requireAtRest(t *testing.T, w *world, at time.Time) {
	t.Helper()
	w.writes, w.ordered = 0, nil
	runAt(t, w, at)
	if w.writes != 0 {
		t.Fatalf("one more run wrote %v", w.ordered)
	}
}

// stride is how many writes lie between two moments at which the power is cut.
func stride() int {
	if testing.Short() {
		return 7
	}
	return 1
}
