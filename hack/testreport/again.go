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

// dataRace is what Go's race detector prints: a race is in the product or in the test, whatever a second attempt says.
const dataRace = "WARNING: DATA RACE"

// printFailures names each package with failed tests and the -run pattern for them. It is an error when a second attempt
// would be a waste or would hide a fault: the code does not compile, too much has failed, a package failed outside of any
// test, there was a data race, or a package is not one of only (empty: all may be run again).
func (t *tally) printFailures(w io.Writer, only []string) error {
	if len(t.broken) > 0 {
		return errors.New("no second attempt: something does not compile")
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
		case slices.ContainsFunc(t.output[id], func(line string) bool { return strings.Contains(line, dataRace) }):
			return fmt.Errorf("no second attempt: %s has a data race", id)
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
