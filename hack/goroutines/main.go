// Command goroutines lists the packages whose tests deserve the race detector: those that start goroutines, in
// the product or in a test, and those that run controllers. Only hack/test calls it.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/hack/golist"
)

func main() {
	others := flag.Bool("others", false, "list the other packages that have tests")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *others); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines:", err)
		os.Exit(1)
	}
}

// run prints the packages with tests that need the race detector, or the others with tests. A package of suites
// or fakes that starts goroutines does so in the tests that import it.
func run(w io.Writer, patterns []string, others bool) error {
	packages, err := golist.List(patterns...)
	if err != nil {
		return err
	}
	concurrent := map[string]bool{}
	for _, p := range packages {
		if concurrent[p.ImportPath], err = isConcurrent(p); err != nil {
			return err
		}
	}
	for _, p := range packages {
		raced := concurrent[p.ImportPath] || slices.ContainsFunc(slices.Concat(p.TestImports, p.XTestImports),
			func(i string) bool { return concurrent[i] && forTests(i) })
		if len(p.TestFiles()) == 0 || raced == others {
			continue
		}
		if _, err := fmt.Fprintln(w, p.ImportPath); err != nil {
			return fmt.Errorf("print the packages: %w", err)
		}
	}
	return nil
}

func forTests(path string) bool {
	return strings.HasSuffix(path, "test") || strings.HasSuffix(path, "contract")
}

func isConcurrent(p golist.Package) (bool, error) {
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, fmt.Errorf("parse %s: %w", name, err)
		}
		if startsGoroutine(file) {
			return true, nil
		}
	}
	return false, nil
}

// startsGoroutine finds go statements, methods named Go (sync.WaitGroup, errgroup), and controller-runtime's
// parts that call back from goroutines of their own.
func startsGoroutine(file *ast.File) bool {
	for _, i := range file.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		if part, ok := strings.CutPrefix(path, "sigs.k8s.io/controller-runtime/pkg/"); ok && slices.Contains(callingBack, part) {
			return true
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
				found = true
			}
		}
		return !found
	})
	return found
}

var callingBack = []string{"builder", "cache", "controller", "manager", "reconcile"}
