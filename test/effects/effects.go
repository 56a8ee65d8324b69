// Package effects holds types that users write against tables of what proves each of their fields. A field that is accepted and read by
// nothing is a mistake that shows on a remote site: a table has a row for every field, and a row names a test.
//
// Tests of the types call it; it imports the standard library only.
package effects

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Row names the test that proves the effect of a field, or that the field is refused.
type Row struct {
	// Folder is that of the test, from the top of the source tree.
	Folder, Test string
}

// In is a row of a test.
func In(folder, test string) Row { return Row{folder, test} }

// Field is a field that a user may write.
type Field struct {
	// Path is as a user writes it, with [] behind a list and * for the keys of a map.
	Path string
	// Name is the Go field's, Key the last part of the path.
	Name, Key string
}

// Fields lists what can be written into a type: the leaves of its tree, in order. Types that are opaque have a format of their own.
func Fields(t reflect.Type, opaque ...reflect.Type) []Field {
	w := walker{opaque: opaque}
	w.walk(t, Field{}, nil)
	return w.out
}

type walker struct {
	opaque []reflect.Type
	out    []Field
}

func (w *walker) walk(t reflect.Type, at Field, above []reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case slices.Contains(w.opaque, t) || slices.Contains(above, t):
		w.out = append(w.out, at)
		return
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		at.Path += "[]"
		w.walk(t.Elem(), at, above)
		return
	case t.Kind() != reflect.Struct || t.NumField() == 0:
		w.out = append(w.out, at)
		return
	}
	above = append(slices.Clone(above), t)
	for i := range t.NumField() {
		f := t.Field(i)
		key := keyOf(f)
		switch {
		case !f.IsExported() && !f.Anonymous, key == "-":
			continue
		case key == "":
			w.walk(f.Type, at, above)
			continue
		}
		w.walk(f.Type, Field{Path: strings.TrimPrefix(at.Path+"."+key, "."), Name: f.Name, Key: key}, above)
	}
}

// Problems says what is wrong with a table: fields without a row, rows without a field, and rows whose test is missing or never speaks of
// the field. root is the top of the source tree. A row whose path ends in a star stands for all fields that begin like it.
func Problems(fields []Field, rows map[string]Row, root string) (out []string) {
	used := map[string]bool{}
	tree := sources{root: root, files: map[string]map[string]string{}}
	for _, f := range fields {
		path, row, found := rowOf(f.Path, rows)
		if !found {
			out = append(out, fmt.Sprintf("%s has no row: name the test that proves its effect, or that it is refused", f.Path))
			continue
		}
		used[path] = true
		text, err := tree.test(row)
		switch {
		case err != nil:
			out = append(out, fmt.Sprintf("%s: %v", f.Path, err))
		case !strings.Contains(text, f.Name) && !strings.Contains(text, f.Key):
			out = append(out, fmt.Sprintf("%s: the file of %s in %s never speaks of it", f.Path, row.Test, row.Folder))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rows)) {
		if !used[path] {
			out = append(out, path+" is no field: remove its row")
		}
	}
	return out
}

func rowOf(path string, rows map[string]Row) (string, Row, bool) {
	if r, ok := rows[path]; ok {
		return path, r, true
	}
	for _, pattern := range slices.Backward(slices.Sorted(maps.Keys(rows))) { // the longest first
		if begin, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(path, begin) {
			return pattern, rows[pattern], true
		}
	}
	return "", Row{}, false
}

// sources are the test files of folders, by the tests in them.
type sources struct {
	root  string
	files map[string]map[string]string
}

// test is the text of the file that has the test.
func (s sources) test(row Row) (string, error) {
	tests, known := s.files[row.Folder]
	if !known {
		var err error
		if tests, err = testsOf(filepath.Join(s.root, filepath.FromSlash(row.Folder))); err != nil {
			return "", err
		}
		s.files[row.Folder] = tests
	}
	text, found := tests[row.Test]
	if !found {
		return "", fmt.Errorf("%s has no test %s", row.Folder, row.Test)
	}
	return text, nil
}

func testsOf(folder string) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("%s has no tests", folder)
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", name, err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				out[f.Name.Name] = string(text)
			}
		}
	}
	return out, nil
}
