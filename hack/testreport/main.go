// Command testreport turns the JSON of "go test" into what a person wants to know:
// failures in full, skips with their reasons, and a count that ends the run. It also
// says which tests deserve a second attempt and keeps the ledger of these. Only hack/test calls it.
package main

import (
	"flag"
	"fmt"
	"os"
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
	t := newTally()
	for _, file := range flag.Args() {
		if err := t.read(file); err != nil {
			fmt.Fprintln(os.Stderr, "testreport:", err)
			os.Exit(1)
		}
	}
	switch {
	case *file != "":
		if err := count(*file, t); err != nil {
			fmt.Fprintln(os.Stderr, "testreport:", err)
			os.Exit(1)
		}
	case *summary:
		fmt.Println(t.closing())
	case *failures:
		if err := t.printFailures(os.Stdout, strings.Fields(*only)); err != nil {
			fmt.Fprintln(os.Stderr, "testreport:", err)
			os.Exit(1)
		}
	default:
		t.print(*tier, *seconds)
	}
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
