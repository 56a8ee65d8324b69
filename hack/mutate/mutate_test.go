package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChosenMutantsStillFitTheCode(t *testing.T) {
	t.Chdir("../..")
	for _, c := range chosen {
		t.Run(c.name, func(t *testing.T) {
			m, err := c.mutant()
			require.NoError(t, err)
			_, err = parser.ParseFile(token.NewFileSet(), c.file, m.source, parser.SkipObjectResolution)
			require.NoError(t, err)
		})
	}
}

const sample = `package sample

func f(a, b int) (int, error) {
	if a := g(a); a > b && b != 7 {
		h()
		b = 3
	}
	for i := 0; i < a; i++ {
		defer h()
	}
	return a + b, nil
}
`

func TestEveryEditStaysGo(t *testing.T) {
	edits, err := editsOf("sample.go", []byte(sample))
	require.NoError(t, err)
	var what []string
	for _, e := range edits {
		what = append(what, e.what)
		changed := sample[:e.start] + e.to + sample[e.end:]
		require.NotEqual(t, sample, changed)
		_, err := parser.ParseFile(token.NewFileSet(), "sample.go", changed, 0)
		require.NoError(t, err, e.what)
	}
	for _, want := range []string{
		"if a > b && b != 7: always", "if a > b && b != 7: never", "a > b: > becomes >=", "b != 7: != becomes ==",
		"a > b && b != 7: && becomes ||", "h(): gone", "b = 3: gone", "i++: gone", "defer h(): gone", "a + b: + becomes -", "7: one more",
	} {
		require.Contains(t, what, want)
	}
}

// A whole module with a test that notices one mutant and not the other.
func TestVerdicts(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":    "module sample\n\ngo 1.24\n",
		"f.go":      "package sample\n\nfunc Larger(a, b int) bool { return a > b }\n\nfunc Unseen() bool { return true }\n",
		"f_test.go": "package sample\n\nimport \"testing\"\n\nfunc TestLarger(t *testing.T) {\n\tif !Larger(2, 1) || Larger(1, 2) {\n\t\tt.Fatal()\n\t}\n}\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for from, want := range map[string]verdict{"a > b": killed, "true": survived, "Unseen": unbuilt} {
		to := map[string]string{"a > b": "a < b", "true": "false", "Unseen": "Larger"}[from]
		text, err := os.ReadFile("f.go")
		require.NoError(t, err)
		m := mutant{file: "f.go", source: []byte(strings.Replace(string(text), from, to, 1)), packages: []string{"."}}
		require.Equal(t, want, try(t.Context(), m, 60e9), from)
	}
	found, err := randomMutants(t.Context(), newRand(3), 100, []string{"./..."})
	require.NoError(t, err)
	var places []string
	for _, m := range found {
		require.Equal(t, "Larger", m.function, "Unseen is not covered")
		places = append(places, filepath.Base(m.file)+" "+m.name)
	}
	require.Equal(t, []string{"f.go a > b: > becomes >="}, places)
}
