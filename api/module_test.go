// Package api_test holds the module of the API types against its promise: to import it costs k8s.io/apimachinery alone.
package api_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/lifecycle-agent/lifecycle-agent/api"

// Requirements of a package for one thing show in the build of every importer, so the list is closed.
func TestTheAPIRequiresApimachineryAlone(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	direct := strings.Fields(command(t, here, "list", "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}{{end}}", "all"))
	if !slices.Equal(direct, []string{"k8s.io/apimachinery"}) {
		t.Errorf("requirements: %v", direct)
	}
	heavy := []string{
		"github.com/chromedp/", "github.com/grafana/", "github.com/openshift/", "github.com/prometheus/", "github.com/yuin/", "go.etcd.io/",
		"google.golang.org/grpc", "k8s.io/api@", "k8s.io/apiextensions-apiserver", "k8s.io/client-go", "sigs.k8s.io/controller-runtime",
		"sigs.k8s.io/kustomize", module[:strings.LastIndex(module, "/")] + "@",
	}
	for line := range strings.Lines(command(t, here, "list", "-m", "-f", "{{.Path}}@{{.Version}}", "all")) {
		if slices.ContainsFunc(heavy, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
			t.Errorf("the graph of modules holds %s", line)
		}
	}
}

// A module that requires ours and nothing else builds a program with every package of it.
func TestAConsumerBuilds(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	consumer := t.TempDir()
	source := "package main\n\nimport (\n"
	for path := range strings.FieldsSeq(command(t, here, "list", "-f", "{{if .GoFiles}}{{.ImportPath}}{{end}}", "./...")) {
		source += fmt.Sprintf("\t_ %q\n", path)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"main.go": source + ")\n\nfunc main() {}\n",
		"go.mod":  fmt.Sprintf("module consumer.example\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, here),
		"go.sum":  string(sums),
	} {
		if err := os.WriteFile(filepath.Join(consumer, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command(t, consumer, "build", "-mod=mod", "-o", filepath.Join(consumer, "program"), ".")
}

// command runs go without the workspace, in which a module of the repository has what the others require.
func command(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", arguments...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=off")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v: %v: %s", arguments, err, problems.String())
	}
	return string(out)
}
