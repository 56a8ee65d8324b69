package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheModulesOfAProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "checktable")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../checktable")
	build.Env = append(os.Environ(), "GOWORK=off") // as "make release" does
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	modules, err := linked([]string{program, program})
	require.NoError(t, err)
	require.IsIncreasing(t, modules)
	require.Contains(t, strings.Join(modules, "\n"), "go.yaml.in/yaml/v3@")
	require.NotRegexp(t, `(?m)^(\.|github\.com/lifecycle-agent/)`, strings.Join(modules, "\n"), "the product's own modules are not third-party software")
	_, err = linked(nil)
	require.Error(t, err)
}

func TestAModuleWithoutALicenceIsRefused(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	require.EqualError(t, notice(&out, "m@v1", dir), "module m@v1 has no licence file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "LICENSE.txt"), []byte("do what you like\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "licenses.go"), []byte("package x"), 0o600))
	require.NoError(t, notice(&out, "m@v1", dir))
	require.Equal(t, "\n==== m@v1, LICENSE.txt\n\ndo what you like\n", out.String())
}
