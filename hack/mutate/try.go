package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// verdict is what the tests said of a mutant.
type verdict string

const (
	killed   verdict = "killed"
	survived verdict = "LIVED"
	unbuilt  verdict = "no build" // the edit does not compile: it says nothing of the tests
)

// mutant is one file with one edit, and the tests that should fail.
type mutant struct {
	name, file, function string
	line                 int
	source               []byte
	packages             []string
	tests                string // a -run pattern; empty runs all
}

func (m mutant) place() string { return fmt.Sprintf("%s:%d %s", m.file, m.line, m.function) }

// try runs the tests over the mutant.
func try(ctx context.Context, m mutant, limit time.Duration) verdict {
	ctx, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	overlay, remove, err := writeOverlay(m)
	if err != nil {
		return verdict(err.Error())
	}
	defer remove()
	args := []string{"test", "-count=1", "-vet=off", "-failfast", "-overlay", overlay, "-timeout", limit.String()}
	if m.tests != "" {
		args = append(args, "-run", m.tests)
	}
	out, err := exec.CommandContext(ctx, "go", append(args, m.packages...)...).CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "no tests to run"):
		return "no test matches " + verdict(m.tests)
	case err == nil:
		return survived
	case strings.Contains(string(out), "[build failed]"):
		return unbuilt
	default:
		return killed
	}
}

// writeOverlay puts the mutant beside the tree, in the form of "go help build", -overlay.
func writeOverlay(m mutant) (file string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the mutant: %w", err)
	}
	original, err := filepath.Abs(m.file)
	changed := filepath.Join(dir, filepath.Base(m.file))
	text, jerr := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	file = filepath.Join(dir, "overlay.json")
	err = errors.Join(err, jerr, os.WriteFile(changed, m.source, 0o600), os.WriteFile(file, text, 0o600))
	return file, func() { _ = os.RemoveAll(dir) }, err
}
