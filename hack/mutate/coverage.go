package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// block is a range of lines that the package's tests run through.
type block struct{ from, to int }

// coverage runs the tests of a package and returns what they cover, by import path of the file.
func coverage(ctx context.Context, name string) (map[string][]block, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the coverage of %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "cover")
	out, err := exec.CommandContext(ctx, "go", "test", "-count=1", "-coverprofile", file, name).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("measure the coverage of %s: %w\n%s", name, err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the coverage of %s: %w", name, err)
	}
	covered := map[string][]block{}
	for line := range strings.Lines(string(text)) {
		// name.go:line.column,line.column statements count
		at, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		var b block
		var column, statements, count int
		_, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from, &column, &b.to, &column, &statements, &count)
		if ok && err == nil && count > 0 {
			covered[at] = append(covered[at], b)
		}
	}
	return covered, nil
}
