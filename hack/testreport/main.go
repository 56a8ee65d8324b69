// Command testreport turns the JSON of "go test" into what a person wants to know:
// failures in full, skips with their reasons, and a count that ends the run. It also
// says which tests deserve a second attempt and keeps the ledger of these. Only hack/test calls it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

// event is one line of "go test -json" (see "go doc test2json").
type event struct {
	Action, Package, Test, Output, Key, Value string
	Elapsed                                   float64
}

func main() {
	tier := flag.String("tier", "", "name of the tier, for its line")
	seconds := flag.Int("seconds", 0, "how long the tier took")
	summary := flag.Bool("summary", false, "print the closing line over all files")
	failures := flag.Bool("failures", false, "of the attempts of a tier, print what to run once more: a package, or with -alone\n"+
		"a package and a -run pattern, in each line; nothing when two of three attempts have passed")
	alone := flag.Bool("alone", false, "with -failures: run the failed tests without the others of their package")
	file := flag.String("ledger", "", "count the run in this ledger of second attempts, and print it")
	flag.Parse()
	if err := reportRuns(*tier, *seconds, *summary, *failures, *alone, *file, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

// reportRuns reads the files of runs. What stands behind them after "--" is what "go test" was given: flags, "--", packages;
// the tests that this selects are compared with those that ran.
func reportRuns(tier string, seconds int, summary, failures, alone bool, ledger string, arguments []string) error {
	files, selected, compare := cutAt(arguments, "--")
	t, attempts := newTally(), []*tally{}
	for _, file := range files {
		attempt := newTally()
		if err := errors.Join(t.read(file), attempt.read(file)); err != nil {
			return fmt.Errorf("read the run %s: %w", file, err)
		}
		attempts = append(attempts, attempt)
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
		attempts[0].missing = t.missing
		return printFailures(os.Stdout, attempts, alone)
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
