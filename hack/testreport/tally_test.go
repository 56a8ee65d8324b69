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
			e, err := json.Marshal(event{Action: f[0], Package: f[1], Test: f[2], Output: f[3]})
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
		{"passes the second time", "3 passed, 0 failed, 1 skipped; passed only at the second attempt: TestTwo",
			[]string{first, "pass a TestTwo/x\npass a TestTwo\npass a"}},
		{"fails the second time", "1 passed, 2 failed, 1 skipped", []string{first, "fail a TestTwo/x\nfail a TestTwo\nfail a"}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, tallied(t, c.runs...).closing()) })
	}
}

func TestWhatRunsAgain(t *testing.T) {
	for _, c := range []struct {
		name, run, want, refusal string
		only                     []string
	}{
		{name: "the tests, not their parts", run: "fail a TestOne/x\nfail a TestOne\nfail a TestTwo\nfail a\nfail b TestB\nfail b",
			want: "a ^(TestOne|TestTwo)$\nb ^(TestB)$\n"},
		{name: "too many", run: "fail a T1\nfail a T2\nfail a T3\nfail a T4\nfail a T5\nfail a", refusal: "5 tests have failed"},
		{name: "a package that ended before its tests", run: "fail a", refusal: "a failed outside of its tests"},
		{name: "a package that may", run: "fail a TestOne\nfail a", want: "a ^(TestOne)$\n", only: []string{"b", "a"}},
		{name: "a package that may not", run: "fail a TestOne\nfail a", refusal: "a depends on no other program", only: []string{"b"}},
		{name: "a data race", run: "output a TestOne WARNING: DATA RACE\nfail a TestOne\nfail a", refusal: "a TestOne has a data race"},
		{name: "a data race in a test that passed", run: "output a TestTwo WARNING: DATA RACE\npass a TestTwo\nfail a TestOne\nfail a",
			refusal: "a TestTwo has a data race"},
		{name: "a panic", run: "output a TestOne panic: boom\nfail a TestOne\nfail a", refusal: "a TestOne has a panic"},
		{name: "a time limit", run: "output a TestOne panic: test timed out after 20m0s\nfail a TestOne\nfail a",
			refusal: "a TestOne has a panic"},
		{name: "a fatal error outside of its tests", run: "fail a TestOne\noutput a  fatal error: concurrent map writes\nfail a",
			refusal: "a has a fatal error"},
		{name: "a panic in another package", run: "fail a TestOne\nfail a\noutput b TestB panic: recovered\npass b TestB\npass b",
			want: "a ^(TestOne)$\n"},
		{name: "a test that quotes a panic", run: "output a TestOne     x_test.go:1: panic: boom\nfail a TestOne\nfail a",
			want: "a ^(TestOne)$\n"},
		{name: "does not compile", run: "build-output\nfail a", refusal: "does not compile"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := tallied(t, c.run).printFailures(&out, c.only)
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
