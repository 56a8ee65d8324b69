// Package golist asks Go which files and imports packages have. The programs below hack that read sources use it.
package golist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
)

// Package is what "go list -json" prints of a package.
type Package struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports          []string
}

// TestFiles are the paths of the files with tests of the package.
func (p Package) TestFiles() []string {
	var paths []string
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		paths = append(paths, filepath.Join(p.Dir, name))
	}
	return paths
}

// List lists the packages that the arguments name, as "go list" takes them: flags such as -tags first, then patterns.
func List(arguments ...string) ([]Package, error) {
	const fields = "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,TestImports,XTestImports"
	var stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), "go", append([]string{"list", fields}, arguments...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages %v: %w: %s", arguments, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var all []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		all = append(all, p)
	}
}
