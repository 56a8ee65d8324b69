package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// ledger counts, over all runs in this tree, the tests that passed only in two of three attempts.
type ledger struct {
	Runs  int     `json:"runs"`
	Tests []flaky `json:"tests,omitempty"`
}

// flaky is a test that has failed and then passed in the same run.
type flaky struct {
	Package string    `json:"package"`
	Test    string    `json:"test"`
	Times   int       `json:"times"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	// Said is the last line of the latest first attempt.
	Said string `json:"said"`
}

func readLedger(file string) (ledger, error) {
	var l ledger
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("read the ledger: %w", err)
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("read the ledger %s: %w", file, err)
	}
	return l, nil
}

// add counts one run.
func (l *ledger) add(t *tally, now time.Time) {
	l.Runs++
	for _, id := range t.secondAttempts() {
		i := slices.IndexFunc(l.Tests, func(f flaky) bool { return f.Package == id.Package && f.Test == id.Name })
		if i < 0 {
			i = len(l.Tests)
			l.Tests = append(l.Tests, flaky{Package: id.Package, Test: id.Name, First: now})
		}
		l.Tests[i].Times++
		l.Tests[i].Last, l.Tests[i].Said = now, t.firstSaid[id]
	}
	slices.SortStableFunc(l.Tests, func(a, b flaky) int { return b.Times - a.Times })
}

func (l ledger) write(file string) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	return nil
}

// print shows the whole ledger: a name that comes back is a fault to find.
func (l ledger) print(w io.Writer, file string) {
	fmt.Fprintf(w, "   %s: runs so far: %d, tests that needed further attempts: %d\n", file, l.Runs, len(l.Tests))
	for _, f := range l.Tests {
		fmt.Fprintf(w, "   %3d of %d runs: %s %s, last %s: %s\n", f.Times, l.Runs, shortPackage(f.Package), f.Test,
			f.Last.Format(time.DateOnly), f.Said)
	}
}

func shortPackage(name string) string {
	if _, rest, ok := strings.Cut(name, "/lifecycle-agent/lifecycle-agent/"); ok {
		return rest
	}
	return name
}
