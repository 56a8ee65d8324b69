package main

import (
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
			text.WriteString(`{"Action":"` + f[0] + `","Package":"` + f[1] + `","Test":"` + f[2] + `","Output":"` + f[3] + `"}` + "\n")
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
