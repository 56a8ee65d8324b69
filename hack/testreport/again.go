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

// printFailures names each package with failed tests and the -run pattern for them. It is an error when a second attempt
// would be a waste: the code does not compile, too much has failed, or a package failed outside of any test.
func (t *tally) printFailures(w io.Writer) error {
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
	for _, id := range t.all("fail", true) {
		if len(failed[id.Package]) == 0 {
			return fmt.Errorf("no second attempt: %s failed outside of its tests", id.Package)
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
