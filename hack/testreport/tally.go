package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// test names one test of one package; the package itself has no Name.
type test struct{ Package, Name string }

func (id test) String() string { return strings.TrimSpace(id.Package + " " + id.Name) }

// tally is the outcome of some test runs. Where a test ran more than once, its last outcome counts: a test that failed is run
// until it has passed twice or failed twice.
type tally struct {
	outcome map[test]string
	output  map[test][]string
	// uses are the other programs that a test, or a part of it, said it depends on.
	uses map[test][]string
	// failed did so at one attempt at least; firstSaid is why.
	failed    map[test]bool
	firstSaid map[test]string
	broken    []string // what a compiler said
	missing   []test   // were selected and have no outcome
	shown     []string
}

func newTally() *tally {
	return &tally{outcome: map[test]string{}, output: map[test][]string{}, uses: map[test][]string{}, failed: map[test]bool{},
		firstSaid: map[test]string{}}
}

func (t *tally) read(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			t.see(e)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) see(e event) {
	id := test{e.Package, e.Test}
	switch e.Action {
	case "output":
		t.output[id] = append(t.output[id], e.Output)
		if strings.Contains(e.Output, "survived") {
			t.shown = append(t.shown, strings.TrimSpace(e.Output))
		}
	case "build-output":
		t.broken = append(t.broken, e.Output)
	case "attr":
		if e.Key == usesKey {
			id.Name, _, _ = strings.Cut(id.Name, "/")
			t.uses[id] = append(t.uses[id], e.Value)
		}
	case "pass", "fail", "skip":
		if e.Action == "fail" && !t.failed[id] {
			t.failed[id], t.firstSaid[id] = true, reason(t.output[id])
		}
		t.outcome[id] = e.Action
	}
}

// all lists the tests, or with packages set the packages, that ended so; in order.
func (t *tally) all(outcome string, packages bool) []test {
	var out []test
	for id, was := range t.outcome {
		if was == outcome && packages == (id.Name == "") {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, compareTests)
	return out
}

func compareTests(a, b test) int { return strings.Compare(a.String(), b.String()) }

// closing is the line that ends a run.
func (t *tally) closing() string {
	line := fmt.Sprintf("%d passed, %d failed, %d skipped",
		len(t.all("pass", false)), len(t.all("fail", false)), len(t.all("skip", false)))
	var names []string
	for _, id := range t.secondAttempts() {
		names = append(names, id.Name)
	}
	if len(names) > 0 {
		line += "; passed only in two of three attempts: " + strings.Join(names, ", ")
	}
	return line
}

// usesKey is the key of the attribute with which a helper of tests says which program the test uses: t.Attr("uses", "etcd").
const usesKey = "uses"

// secondAttempts are the tests, without their subtests, that passed only after further attempts.
func (t *tally) secondAttempts() []test {
	var out []test
	for id := range t.failed {
		if t.outcome[id] == "pass" && id.Name != "" && !strings.Contains(id.Name, "/") {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b test) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// reasons are the skipped tests by what they said last.
func (t *tally) reasons() map[string][]test {
	out := map[string][]test{}
	for _, id := range t.all("skip", false) {
		out[reason(t.output[id])] = append(out[reason(t.output[id])], id)
	}
	return out
}

func reason(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if _, said, ok := strings.Cut(lines[i], ".go:"); ok {
			_, said, _ = strings.Cut(said, ": ")
			return strings.TrimSpace(said)
		}
	}
	return "no reason given"
}

// print shows a tier, and ends the program with 1 when something in it failed or did not run.
func (t *tally) print(tier string, seconds int) {
	fmt.Print(strings.Join(t.broken, ""))
	failures := append(t.all("fail", false), t.all("fail", true)...)
	for _, id := range failures {
		fmt.Printf("--- FAIL: %s\n%s", id, strings.Join(t.output[id], ""))
	}
	for _, line := range t.shown {
		fmt.Println("  ", line)
	}
	reasons := t.reasons()
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Printf("   skipped %d: %s (%s)\n", len(reasons[why]), why, reasons[why][0])
	}
	for _, id := range t.missing {
		fmt.Printf("--- NOT RUN: %s\n", id)
	}
	fmt.Printf("   %s: %s in %d s\n", tier, t.closing(), seconds)
	if len(failures)+len(t.missing) > 0 {
		os.Exit(1)
	}
}
