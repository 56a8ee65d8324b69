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

// printFailures names each package with failed tests and the -run pattern for them. It is an error when a second attempt
// would be a waste or would hide a fault: the code does not compile, too much has failed, a package failed outside of any
// test or did not run all its tests, there was a panic, a fatal error or a data race anywhere in it, or a package is not
// one of only (empty: all may be run again).
func (t *tally) printFailures(w io.Writer, only []string) error {
	if len(t.broken) > 0 {
		return errors.New("no second attempt: something does not compile")
	}
	if len(t.missing) > 0 {
		return fmt.Errorf("no second attempt: %s did not run, and %d in all", t.missing[0], len(t.missing))
	}
	failed := map[string][]string{}
	count := 0
	for _, id := range t.all("fail", false) {
		if !strings.Contains(id.Name, "/") {
			failed[id.Package] = append(failed[id.Package], regexp.QuoteMeta(id.Name))
			count++
		}
	}
	for _, id := range append(t.all("fail", false), t.all("fail", true)...) {
		switch {
		case len(failed[id.Package]) == 0:
			return fmt.Errorf("no second attempt: %s failed outside of its tests", id.Package)
		case len(only) > 0 && !slices.Contains(only, id.Package):
			return fmt.Errorf("no second attempt: %s depends on no other program", id.Package)
		}
		if id, name := t.findDefect(id.Package); name != "" {
			return fmt.Errorf("no second attempt: %s has %s", id, name)
		}
	}
	if count > maxAgain {
		return fmt.Errorf("no second attempt: %d tests have failed, more than %d", count, maxAgain)
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		if _, err := fmt.Fprintf(w, "%s ^(%s)$\n", name, strings.Join(failed[name], "|")); err != nil {
			return err
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
