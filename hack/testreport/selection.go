package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/hack/golist"
)

// selection is what a tier was asked to run: the arguments of its "go test".
type selection struct {
	tags      []string // as "go list" takes them
	run, skip *regexp.Regexp
	packages  []string
}

// readSelection reads the arguments that "go test" was given: flags, "--", packages. Of the flags it needs those that
// choose tests: -run, -skip, -tags, each with its value in the next argument.
func readSelection(arguments []string) (selection, error) {
	s := selection{run: regexp.MustCompile("")}
	end := slices.Index(arguments, "--")
	if end < 0 {
		return s, fmt.Errorf(`the arguments of "go test" lack the "--" before the packages: %v`, arguments)
	}
	flags := arguments[:end]
	s.packages = arguments[end+1:]
	for n := 0; n+1 < len(flags); n++ {
		var err error
		switch flags[n] {
		case "-tags":
			s.tags = []string{"-tags", flags[n+1]}
		case "-run":
			s.run, err = compileTop(flags[n+1])
		case "-skip":
			if !strings.Contains(flags[n+1], "/") { // with a slash it skips parts of a test
				s.skip, err = compileTop(flags[n+1])
			}
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// compileTop compiles the part of a pattern that chooses tests, without the parts that choose subtests.
func compileTop(pattern string) (*regexp.Regexp, error) {
	top, _, _ := strings.Cut(pattern, "/")
	re, err := regexp.Compile(top)
	if err != nil {
		return nil, fmt.Errorf("compile the pattern of tests %q: %w", pattern, err)
	}
	return re, nil
}

// listTests lists the selected tests and fuzz tests, as "go test -list" would, but from the sources: nothing is linked.
func (s selection) listTests() ([]test, error) {
	if len(s.packages) == 0 {
		return nil, nil
	}
	packages, err := golist.List(slices.Concat(s.tags, s.packages)...)
	if err != nil {
		return nil, err
	}
	var out []test
	for _, p := range packages {
		for _, file := range p.TestFiles() {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("parse %s: %w", file, err)
			}
			for _, name := range declaredTests(parsed) {
				if s.run.MatchString(name) && (s.skip == nil || !s.skip.MatchString(name)) {
					out = append(out, test{p.ImportPath, name})
				}
			}
		}
	}
	return out, nil
}

// declaredTests names the functions of a file that "go test" runs as tests. Their names need no closer look: "go vet",
// which is part of "go test", refuses others with these parameters.
func declaredTests(file *ast.File) []string {
	var names []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || len(f.Type.Params.List) != 1 {
			continue
		}
		name := f.Name.Name
		if strings.HasPrefix(name, "Test") && takesPointerTo(f, "T") || strings.HasPrefix(name, "Fuzz") && takesPointerTo(f, "F") {
			names = append(names, name)
		}
	}
	return names
}

// takesPointerTo reports whether a function's parameter is a pointer to the named type of package testing.
func takesPointerTo(f *ast.FuncDecl, name string) bool {
	star, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := star.X.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == name
}
