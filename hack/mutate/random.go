package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// edit replaces a part of a file.
type edit struct {
	start, end int
	to, what   string
	function   string
	line       int
}

// randomMutants picks count places in covered code of the packages.
func randomMutants(ctx context.Context, rng *rand.Rand, count int, patterns []string) ([]mutant, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{.ImportPath}} {{.Dir}}"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var all []mutant
	for line := range strings.Lines(string(out)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		covered, err := coverage(ctx, name)
		if err != nil {
			return nil, err
		}
		found, err := packageMutants(name, dir, covered)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(count, len(all))], nil
}

// packageMutants is every possible edit in covered code of a package; the package's own tests judge them.
func packageMutants(name, dir string, covered map[string][]block) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []mutant
	for _, file := range files {
		blocks := covered[name+"/"+filepath.Base(file)]
		if strings.HasSuffix(file, "_test.go") || len(blocks) == 0 {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		edits, err := editsOf(file, source)
		if err != nil {
			return nil, err
		}
		for _, e := range edits {
			if !slices.ContainsFunc(blocks, func(b block) bool { return b.from <= e.line && e.line <= b.to }) {
				continue
			}
			changed := string(source[:e.start]) + e.to + string(source[e.end:])
			out = append(out, mutant{name: e.what, file: relative(file), function: e.function, line: e.line,
				source: []byte(changed), packages: []string{name}})
		}
	}
	return out, nil
}

func relative(file string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, file); err == nil {
			return rel
		}
	}
	return file
}

// editsOf lists what may be broken in a file.
func editsOf(file string, source []byte) ([]edit, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []edit
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			for _, e := range editsAt(n, set, source) {
				e.function = f.Name.Name
				out = append(out, e)
			}
			return true
		})
	}
	return out, nil
}

// opposite is what an operator is changed into.
var opposite = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
}

func editsAt(n ast.Node, set *token.FileSet, source []byte) []edit {
	cut := func(from, to token.Pos, text, what string) []edit {
		p, q := set.Position(from), set.Position(to)
		return []edit{{start: p.Offset, end: q.Offset, to: text, what: what, line: p.Line}}
	}
	text := func(n ast.Node) string {
		return short(source[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if other, ok := opposite[n.Op]; ok {
			was := n.Op.String()
			return cut(n.OpPos, n.OpPos+token.Pos(len(was)), other.String(), text(n)+": "+was+" becomes "+other.String())
		}
	case *ast.IfStmt:
		cond := string(source[set.Position(n.Cond.Pos()).Offset:set.Position(n.Cond.End()).Offset])
		return append(cut(n.Cond.Pos(), n.Cond.End(), "true || ("+cond+")", "if "+text(n.Cond)+": always"),
			cut(n.Cond.Pos(), n.Cond.End(), "false && ("+cond+")", "if "+text(n.Cond)+": never")...)
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt:
		return cut(n.Pos(), n.End(), "", text(n)+": gone")
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return cut(n.Pos(), n.End(), "", text(n)+": gone")
		}
	case *ast.Ident:
		if n.Name == "true" || n.Name == "false" {
			return cut(n.Pos(), n.End(), map[string]string{"true": "false", "false": "true"}[n.Name], n.Name+": turned")
		}
	case *ast.BasicLit:
		if n.Kind == token.INT {
			return cut(n.Pos(), n.End(), "("+n.Value+" + 1)", n.Value+": one more")
		}
	}
	return nil
}

func short(text []byte) string {
	s := strings.Join(strings.Fields(string(text)), " ")
	if len(s) > 50 {
		s = s[:50] + "…"
	}
	return s
}
