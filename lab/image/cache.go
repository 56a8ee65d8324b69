package image

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// keyLength is how much of a step's hash stands in its directory name; 48 bits are plenty for a handful of entries.
const keyLength = 12

// keys returns for each step of path the hash of all it depends on: its files by content, its inputs by their own key.
func keys(path []step) (map[Artefact]string, error) {
	result := map[Artefact]string{}
	for _, s := range path {
		key, err := s.key(result)
		if err != nil {
			return nil, err
		}
		result[s.name] = key
	}
	return result, nil
}

func (s step) key(inputs map[Artefact]string) (string, error) {
	hash := sha256.New()
	for _, top := range append([]string{"recipe/" + string(s.name) + ".sh"}, s.files...) {
		names, err := list(top)
		if err != nil {
			return "", fmt.Errorf("list recipe file %s: %w", top, err)
		}
		for _, name := range names {
			content, err := files.ReadFile(name)
			if err != nil {
				return "", fmt.Errorf("read recipe file %s: %w", name, err)
			}
			fmt.Fprintf(hash, "%s %d\n%s\n", name, len(content), content)
		}
	}
	for _, variable := range slices.Sorted(maps.Keys(s.inputs)) {
		fmt.Fprintf(hash, "%s=%s\n", variable, inputs[s.inputs[variable]])
	}
	return hex.EncodeToString(hash.Sum(nil))[:keyLength], nil
}

// copyFS writes all of source below dir. Everything is executable; the recipe sets the modes that matter in the node.
func copyFS(dir string, source fs.FS) error {
	return fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, path)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o755)
	})
}

// RemoveTree deletes a tree that may hold ostree deployments, whose top directories ostree makes immutable. Nothing that is
// not there is an error.
func RemoveTree(dir string) error {
	for _, pattern := range []string{"ostree/deploy/*/deploy/*.*", "*/ostree/deploy/*/deploy/*.*"} {
		deployments, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		if len(deployments) > 0 {
			// A file system without the flag refuses; then there is nothing to clear, and RemoveAll tells the rest.
			_ = exec.Command("chattr", append([]string{"-i", "--"}, deployments...)...).Run()
		}
	}
	return os.RemoveAll(dir)
}
