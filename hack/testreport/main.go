// Command testreport turns the JSON of "go test" into what a person wants to know:
// failures in full, skips with their reasons, and a count that ends the run. Only
// hack/test calls it.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
)

// event is one line of "go test -json" (see "go doc test2json").
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// tally is the outcome of some test runs.
type tally struct {
	passed, failed, skipped int
	output                  map[string][]string // package/test -> lines
	reasons                 map[string][]string // reason -> tests
	broken                  []string
	failures                []string
	shown                   []string
}

func main() {
	tier := flag.String("tier", "", "name of the tier, for its line")
	seconds := flag.Int("seconds", 0, "how long the tier took")
	summary := flag.Bool("summary", false, "print the closing line over all files")
	flag.Parse()
	t := &tally{output: map[string][]string{}, reasons: map[string][]string{}}
	for _, file := range flag.Args() {
		if err := t.read(file); err != nil {
			fmt.Fprintln(os.Stderr, "testreport:", err)
			os.Exit(1)
		}
	}
	if *summary {
		fmt.Printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
		return
	}
	t.print(*tier, *seconds)
}

func (t *tally) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			t.see(e)
		}
	}
	return lines.Err()
}

func (t *tally) see(e event) {
	id := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		t.output[id] = append(t.output[id], e.Output)
		if strings.Contains(e.Output, "survived") {
			t.shown = append(t.shown, strings.TrimSpace(e.Output))
		}
	case "build-output":
		t.broken = append(t.broken, e.Output)
	case "pass", "fail", "skip":
		t.end(e, id)
	}
}

func (t *tally) end(e event, id string) {
	switch {
	case e.Test == "" && e.Action == "fail":
		t.failures = append(t.failures, id)
	case e.Test == "":
	case e.Action == "pass":
		t.passed++
	case e.Action == "fail":
		t.failed++
		t.failures = append(t.failures, id)
	case e.Action == "skip":
		t.skipped++
		t.reasons[reason(t.output[id])] = append(t.reasons[reason(t.output[id])], id)
	}
}

// reason is what a skipped test said last.
func reason(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if _, said, ok := strings.Cut(lines[i], ".go:"); ok {
			_, said, _ = strings.Cut(said, ": ")
			return strings.TrimSpace(said)
		}
	}
	return "no reason given"
}

func (t *tally) print(tier string, seconds int) {
	for _, line := range t.broken {
		fmt.Print(line)
	}
	for _, id := range t.failures {
		fmt.Printf("--- FAIL: %s\n%s", id, strings.Join(t.output[id], ""))
	}
	for _, line := range t.shown {
		fmt.Println("  ", line)
	}
	reasons := make([]string, 0, len(t.reasons))
	for r := range t.reasons {
		reasons = append(reasons, r)
	}
	sort.Strings(reasons)
	for _, r := range reasons {
		fmt.Printf("   skipped %d: %s (%s)\n", len(t.reasons[r]), r, t.reasons[r][0])
	}
	fmt.Printf("   %s: %d passed, %d failed, %d skipped in %d s\n", tier, t.passed, t.failed, t.skipped, seconds)
	if t.failed > 0 || len(t.failures) > 0 {
		os.Exit(1)
	}
}
