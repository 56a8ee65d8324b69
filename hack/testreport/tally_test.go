package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tallied reads runs, each given as "action package test" lines.
func tallied(t *testing.T, runs ...string) *tally {
	t.Helper()
	out := newTally()
	for _, run := range runs {
		var text strings.Builder
		for line := range strings.Lines(run) {
			f := append(strings.SplitN(strings.TrimSpace(line), " ", 4), "", "", "")
			made := event{Action: f[0], Package: f[1], Test: f[2], Output: f[3]}
			if made.Action == "attr" {
				made.Key, made.Value, made.Output = usesKey, made.Output, ""
			}
			e, err := json.Marshal(made)
			require.NoError(t, err)
			text.Write(append(e, '\n'))
		}
		file := filepath.Join(t.TempDir(), "run.json")
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
		require.NoError(t, out.read(file))
	}
	return out
}

func TestClosing(t *testing.T) {
	first := "pass a TestOne\nfail a TestTwo/x\nfail a TestTwo\nskip a TestThree\nfail a"
	for _, c := range []struct {
		name, want string
		runs       []string
	}{
		{"one run", "1 passed, 2 failed, 1 skipped", []string{first}},
		{"passes in two of three attempts", "3 passed, 0 failed, 1 skipped; passed only in two of three attempts: TestTwo",
			[]string{first, "pass a TestTwo/x\npass a TestTwo\npass a", "pass a TestTwo/x\npass a TestTwo\npass a"}},
		{"fails the second time", "1 passed, 2 failed, 1 skipped", []string{first, "fail a TestTwo/x\nfail a TestTwo\nfail a"}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, tallied(t, c.runs...).closing()) })
	}
}

func TestWhatRunsAgain(t *testing.T) {
	const uses = "attr a TestOne etcd\nattr a TestTwo/x API server\nattr b TestB etcd\n"
	const fails, passes = uses + "fail a TestOne\npass a TestTwo\nfail a", uses + "pass a TestOne\npass a TestTwo\npass a"
	for _, c := range []struct {
		name, want, refusal string
		runs                []string
		whole               bool
	}{
		{name: "the tests, not their parts", runs: []string{uses +
			"fail a TestOne/x\nfail a TestOne\nfail a TestTwo\nfail a\nfail b TestB\nfail b"},
			want: "a ^(TestOne|TestTwo)$\nb ^(TestB)$\n"},
		{name: "their packages", runs: []string{fails}, whole: true, want: "a\n"},
		{name: "nothing", runs: []string{passes}},
		{name: "too many", refusal: "5 tests have failed", runs: []string{"attr a T1 x\nattr a T2 x\nattr a T3 x\nattr a T4 x\nattr a T5 x\n" +
			"fail a T1\nfail a T2\nfail a T3\nfail a T4\nfail a T5\nfail a"}},
		{name: "a package that ended before its tests", runs: []string{"fail a"}, refusal: "a failed outside of its tests"},
		{name: "a test of the product alone", runs: []string{uses + "fail a TestOther\nfail a"}, refusal: "a TestOther uses no other program"},
		{name: "a data race", runs: []string{"output a TestOne WARNING: DATA RACE\n" + fails}, refusal: "a TestOne has a data race"},
		{name: "a data race in a test that passed", runs: []string{"output a TestTwo WARNING: DATA RACE\n" + fails},
			refusal: "a TestTwo has a data race"},
		{name: "a panic", runs: []string{"output a TestOne panic: boom\n" + fails}, refusal: "a TestOne has a panic"},
		{name: "a time limit", runs: []string{"output a TestOne panic: test timed out after 20m0s\n" + fails}, refusal: "a TestOne has a panic"},
		{name: "a fatal error outside of its tests", runs: []string{fails + "\noutput a  fatal error: concurrent map writes"},
			refusal: "a has a fatal error"},
		{name: "a panic in another package", runs: []string{fails + "\noutput b TestB panic: recovered\npass b TestB\npass b"},
			want: "a ^(TestOne)$\n"},
		{name: "a test that quotes a panic", runs: []string{"output a TestOne     x_test.go:1: panic: boom\n" + fails}, want: "a ^(TestOne)$\n"},
		{name: "does not compile", runs: []string{"build-output\nfail a"}, refusal: "does not compile"},
		{name: "once more after it passed", runs: []string{fails, passes}, want: "a ^(TestOne)$\n"},
		{name: "two of three", runs: []string{fails, passes, passes}},
		{name: "twice", runs: []string{fails, fails}, refusal: "a TestOne has failed in 2 attempts"},
		{name: "two of three, and not the first", runs: []string{fails, passes, fails}, refusal: "a TestOne has failed in 2 attempts"},
		{name: "another test at the second attempt", whole: true, runs: []string{fails,
			uses + "pass a TestOne\nfail a TestTwo\nfail a"}, want: "a\n"},
		{name: "another test at the second attempt, which passed twice",
			runs: []string{fails, uses + "pass a TestOne\nfail a TestTwo\nfail a", passes}},
		{name: "another test, of the product alone", runs: []string{fails, "pass a TestOne\nfail a TestTwo\nfail a"},
			refusal: "a TestTwo uses no other program"},
		{name: "a panic at the second attempt", runs: []string{fails, "output a TestTwo panic: boom\npass a TestOne\nfail a"},
			refusal: "a TestTwo has a panic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			var attempts []*tally
			for _, run := range c.runs {
				attempts = append(attempts, tallied(t, run))
			}
			err := printFailures(&out, attempts, !c.whole)
			if c.refusal != "" {
				require.ErrorContains(t, err, c.refusal)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, out.String())
		})
	}
}

func TestLedgerCountsRunsAndSecondAttempts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flaky.json")
	first := "fail a TestTwo/x\nfail a TestTwo\npass a TestOne\nfail a"
	again := "pass a TestTwo/x\npass a TestTwo\npass a"
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, runs := range [][]string{{first, again}, {"pass a TestTwo"}, {first, again}, {first, first}} {
		l, err := readLedger(file)
		require.NoError(t, err)
		l.add(tallied(t, runs...), day.AddDate(0, 0, i))
		require.NoError(t, l.write(file))
	}
	l, err := readLedger(file)
	require.NoError(t, err)
	require.Equal(t, ledger{Runs: 4, Tests: []flaky{{Package: "a", Test: "TestTwo", Times: 2, First: day,
		Last: day.AddDate(0, 0, 2), Said: "no reason given"}}}, l)
	var out strings.Builder
	l.print(&out, "flaky.json")
	require.Contains(t, out.String(), "2 of 4 runs: a TestTwo, last 2026-01-04: no reason given\n")
}
