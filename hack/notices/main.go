// Command notices prints the licences of every module that is linked into the programs named as arguments. "make release"
// runs it; a module without a licence file is an error.
package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, programs []string) error {
	modules, err := linked(programs)
	if err != nil {
		return err
	}
	folders, err := locate(ctx, modules)
	if err != nil {
		return err
	}
	fmt.Fprint(out, "Lifecycle Agent contains the following third-party software.\n")
	for _, module := range modules {
		if err := notice(out, module, folders[module]); err != nil {
			return err
		}
	}
	return nil
}

// linked lists the modules of the programs as PATH@VERSION, each once.
func linked(programs []string) ([]string, error) {
	found := map[string]bool{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("read the modules of %s: %w", program, err)
		}
		for _, dep := range info.Deps {
			if strings.HasPrefix(dep.Path, info.Main.Path+"/") {
				continue // a module of this repository
			}
			if dep.Replace != nil {
				dep = dep.Replace
			}
			found[dep.Path+"@"+dep.Version] = true
		}
	}
	if len(found) == 0 {
		return nil, errors.New("no program with modules is named")
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// locate asks Go where it keeps the modules.
func locate(ctx context.Context, modules []string) (map[string]string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", append([]string{"mod", "download", "-json"}, modules...)...)
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("locate the modules: %w: %s", err, stderr.String())
	}
	folders := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var m struct{ Path, Version, Dir string }
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, fmt.Errorf("read where the modules are: %w", err)
		}
		folders[m.Path+"@"+m.Version] = m.Dir
	}
}

var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// notice prints what the module's own root folder says of its licence.
func notice(out io.Writer, module, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("find the licence of %s: %w", module, err)
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !legal.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return fmt.Errorf("read the licence of %s: %w", module, err)
		}
		found = true
		fmt.Fprintf(out, "\n==== %s, %s\n\n%s\n", module, e.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("module %s has no licence file", module)
	}
	return nil
}
