package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maxAgain is how many tests may be run again: more failures than that have a common cause.
const maxAgain = 4

// defects are what a line of output begins with where the product or the test has a defect, whatever a second attempt
// says. The first two end the package: the tests after that do not run, and a second attempt would not run them either.
var defects = []struct{ prefix, name string }{
	{"panic: ", "a panic"},
	{"fatal error: ", "a fatal error"},
	{"WARNING: DATA RACE", "a data race"},
}

// printFailures names what is to be run once more after some attempts: each package with a failed test, and with alone the
// -run pattern for these tests. A test that has failed once has to pass twice. It is an error when a further attempt would
// be a waste or would hide a fault: a test has failed twice or uses no other program, the code does not compile, too much
// has failed, a package failed outside of any test or did not run all its tests, or there was a panic, a fatal error or a
// data race anywhere in it.
func printFailures(w io.Writer, attempts []*tally, alone bool) error {
	fails, passes := map[test]int{}, map[test]int{}
	for _, t := range attempts {
		if err := t.refuseAttempt(); err != nil {
			return err
		}
		for _, id := range t.all("fail", false) {
			fails[id]++
		}
		for _, id := range t.all("pass", false) {
			passes[id]++
		}
	}
	again := map[string][]string{}
	count := 0
	for _, id := range slices.SortedFunc(maps.Keys(fails), compareTests) {
		if strings.Contains(id.Name, "/") {
			continue
		}
		count++
		switch {
		case fails[id] > 1:
			return fmt.Errorf("%s has failed in %d attempts", id, fails[id])
		case passes[id] < 2:
			again[id.Package] = append(again[id.Package], regexp.QuoteMeta(id.Name))
		}
	}
	if count > maxAgain {
		return fmt.Errorf("no further attempt: %d tests have failed, more than %d", count, maxAgain)
	}
	for _, name := range slices.Sorted(maps.Keys(again)) {
		line := name
		if alone {
			line += " ^(" + strings.Join(again[name], "|") + ")$"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// refuseAttempt says why what has failed in this attempt deserves no further one.
func (t *tally) refuseAttempt() error {
	if len(t.broken) > 0 {
		return errors.New("no further attempt: something does not compile")
	}
	if len(t.missing) > 0 {
		return fmt.Errorf("no further attempt: %s did not run, and %d in all", t.missing[0], len(t.missing))
	}
	failed := map[string]bool{}
	for _, id := range t.all("fail", false) {
		failed[id.Package] = true
		if id, name := t.findDefect(id.Package); name != "" {
			return fmt.Errorf("no further attempt: %s has %s", id, name)
		}
		if !strings.Contains(id.Name, "/") && len(t.uses[id]) == 0 {
			return fmt.Errorf("no further attempt: %s uses no other program", id)
		}
	}
	for _, id := range t.all("fail", true) {
		if id, name := t.findDefect(id.Package); name != "" {
			return fmt.Errorf("no further attempt: %s has %s", id, name)
		}
		if !failed[id.Package] {
			return fmt.Errorf("no further attempt: %s failed outside of its tests", id.Package)
		}
	}
	return nil
}

// findDefect looks for a defect in all that a package has printed: of each test, also of those that passed, and outside
// of its tests.
func (t *tally) findDefect(in string) (id test, name string) {
	for id, lines := range t.output {
		if id.Package != in {
			continue
		}
		for _, line := range lines {
			for _, d := range defects {
				if strings.HasPrefix(line, d.prefix) {
					return id, d.name
				}
			}
		}
	}
	return test{}, ""
}

// compareWith notes the selected tests that have no outcome: a panic, or a call of os.Exit, ends a package before them.
func (t *tally) compareWith(s selection) error {
	tests, err := s.listTests()
	if err != nil {
		return fmt.Errorf("list the tests of the tier: %w", err)
	}
	for _, id := range tests {
		if t.outcome[id] == "" {
			t.missing = append(t.missing, id)
		}
	}
	return nil
}
