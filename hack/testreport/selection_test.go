package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sources is a package whose second test ends it: the others do not run.
const sources = `package made

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(m.Run()) }

func TestA(t *testing.T) {}

func TestB(t *testing.T) { %END% }

func TestC(t *testing.T) { t.Attr("uses", "etcd"); t.Error("broken") }

func FuzzD(f *testing.F) { f.Fuzz(func(*testing.T, []byte) {}) }
`

// runMade runs "go test" over the sources, with the statement as the body of TestB, and reads what it printed.
func runMade(t *testing.T, statement string, flags ...string) (*tally, selection) {
	t.Helper()
	folder := t.TempDir()
	text := strings.Replace(sources, "%END%", statement, 1)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "made_test.go"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module made\n\ngo 1.26\n"), 0o600))
	t.Chdir(folder)
	cmd := exec.CommandContext(context.Background(), "go", append(append([]string{"test", "-json"}, flags...), ".")...)
	out, _ := cmd.Output() // fails, as it should
	run := filepath.Join(folder, "run.json")
	require.NoError(t, os.WriteFile(run, out, 0o600))
	tallied := newTally()
	require.NoError(t, tallied.read(run))
	selected, err := readSelection(append(flags, "--", "."))
	require.NoError(t, err)
	return tallied, selected
}

func TestTestsThatDidNotRunAreMissing(t *testing.T) {
	for _, c := range []struct {
		name, statement, refusal string
		flags                    []string
		missing                  []test
	}{
		{name: "all have run", missing: nil},
		{name: "a panic", statement: `panic("boom")`, missing: []test{{"made", "TestC"}, {"made", "FuzzD"}},
			refusal: "made TestC did not run, and 2 in all"},
		{name: "the end of the process", statement: "os.Exit(0)", missing: []test{{"made", "TestC"}, {"made", "FuzzD"}},
			refusal: "did not run"},
		{name: "a panic, and the others were not asked for", statement: `panic("boom")`, flags: []string{"-run", "^TestB$/part"},
			refusal: "made TestB has a panic"},
		{name: "a panic, and the others were left out", statement: `panic("boom")`,
			flags: []string{"-skip", "^(TestC|Fuzz.*)$"}, refusal: "made TestB has a panic"},
		{name: "parts are left out", flags: []string{"-skip", "^TestC$/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "a panic" {
				t.Skip("reason: compiles a test of its own; run without -short")
			}
			tallied, selected := runMade(t, c.statement, c.flags...)
			require.NoError(t, tallied.compareWith(selected))
			var got []test
			for _, id := range tallied.missing {
				if id.Name != "TestB" { // ended without an outcome where the process ended in it
					got = append(got, id)
				}
			}
			require.Equal(t, c.missing, got)
			err := printFailures(&strings.Builder{}, []*tally{tallied}, true)
			if c.refusal == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.refusal)
		})
	}
}

func TestTheMatricesAreFoundByTheirNames(t *testing.T) {
	matrices := func(what string) string {
		out, err := exec.CommandContext(t.Context(), "../matrices", what).Output()
		require.NoError(t, err, what)
		return strings.TrimSpace(string(out))
	}
	packages := strings.Fields(matrices("packages"))
	require.Contains(t, packages, "./internal/ipconfig/change")
	require.Contains(t, packages, "./internal/snapshot")
	script, err := os.ReadFile("../test")
	require.NoError(t, err)
	require.NotContains(t, string(script), "./internal/ipconfig/change", "the packages are not listed by hand")
	s, err := readSelection([]string{"-run", matrices("pattern"), "--", "../../internal/snapshot"})
	require.NoError(t, err)
	tests, err := s.listTests()
	require.NoError(t, err)
	require.NotEmpty(t, tests)
}

func TestArgumentsWithoutPackages(t *testing.T) {
	_, err := readSelection([]string{"-run", "x"})
	require.ErrorContains(t, err, `lack the "--"`)
	_, err = readSelection([]string{"-run", "(", "--", "."})
	require.ErrorContains(t, err, `compile the pattern of tests "("`)
}
