// Command testreport turns the JSON of "go test" into what a person wants to know:
// failures in full, skips with their reasons, and a count that ends the run. It also
// says which tests deserve a second attempt and keeps the ledger of these. Only hack/test calls it.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// event is one line of "go test -json" (see "go doc test2json").
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	tier := flag.String("tier", "", "name of the tier, for its line")
	seconds := flag.Int("seconds", 0, "how long the tier took")
	summary := flag.Bool("summary", false, "print the closing line over all files")
	failures := flag.Bool("failures", false, "print what to run again, a package and a -run pattern in each line")
	only := flag.String("only", "", "with -failures: the packages that may be run again, separated by white space; empty for all")
	file := flag.String("ledger", "", "count the run in this ledger of second attempts, and print it")
	flag.Parse()
	if err := reportRuns(*tier, *seconds, *summary, *failures, *only, *file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

// reportRuns reads the files of runs. What stands behind them after "--" is what "go test" was given: flags, "--", packages;
// the tests that this selects are compared with those that ran.
func reportRuns(tier string, seconds int, summary, failures bool, only, ledger string, arguments []string) error {
	files, selected, compare := cutAt(arguments, "--")
	t := newTally()
	for _, file := range files {
		if err := t.read(file); err != nil {
			return fmt.Errorf("read the run %s: %w", file, err)
		}
	}
	if compare {
		s, err := readSelection(selected)
		if err != nil {
			return err
		}
		if err := t.compareWith(s); err != nil {
			return err
		}
	}
	switch {
	case ledger != "":
		return count(ledger, t)
	case summary:
		fmt.Println(t.closing())
	case failures:
		return t.printFailures(os.Stdout, strings.Fields(only))
	default:
		t.print(tier, seconds)
	}
	return nil
}

func cutAt(arguments []string, separator string) (before, after []string, found bool) {
	n := slices.Index(arguments, separator)
	if n < 0 {
		return arguments, nil, false
	}
	return arguments[:n], arguments[n+1:], true
}

func count(file string, t *tally) error {
	l, err := readLedger(file)
	if err != nil {
		return err
	}
	l.add(t, time.Now().UTC())
	l.print(os.Stdout, file)
	return l.write(file)
}
