// Package nodefiles is what a lab node has on its disk for its control plane and its node agent, etcd's data aside.
//
// It is called by lab/cluster. Like all of lab/cluster it imports nothing of the product.
package nodefiles

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Tree collects the files of one node before they are written: /etc/... and /var/... paths as the running node sees them.
type Tree struct {
	files map[string]treeFile
	links map[string]string
}

type treeFile struct {
	mode os.FileMode
	data []byte
}

func newTree() *Tree { return &Tree{files: map[string]treeFile{}, links: map[string]string{}} }

// put adds a file that anybody may read.
func (t *Tree) put(path, text string) { t.files[path] = treeFile{0o644, []byte(text)} }

// secret adds a file for root only.
func (t *Tree) secret(path string, data []byte) { t.files[path] = treeFile{0o600, data} }

// exec adds an executable script.
func (t *Tree) exec(path, text string) { t.files[path] = treeFile{0o755, []byte(text)} }

// link adds a symbolic link.
func (t *Tree) link(path, target string) { t.links[path] = target }

// Write puts everything below etc and var. Paths start with /etc/ or /var/.
func (t *Tree) Write(etc, varDir string) error {
	for path, f := range t.files {
		dst, err := place(etc, varDir, path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
			return fmt.Errorf("make the directory of %s: %w", path, err)
		}
		if err := os.WriteFile(dst, f.data, f.mode); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		if err := os.Chmod(dst, f.mode); err != nil {
			return fmt.Errorf("set the mode of %s: %w", path, err)
		}
	}
	for path, target := range t.links {
		dst, err := place(etc, varDir, path)
		if err != nil {
			return err
		}
		if err := relink(dst, target); err != nil {
			return fmt.Errorf("link %s: %w", path, err)
		}
	}
	return nil
}

func relink(dst, target string) error {
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	if err := os.Remove(dst); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(target, dst)
}

// place maps a path of the running node to the mounted trees.
func place(etc, varDir, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "/etc/"); ok {
		return filepath.Join(etc, rest), nil
	}
	if rest, ok := strings.CutPrefix(path, "/var/"); ok {
		return filepath.Join(varDir, rest), nil
	}
	return "", fmt.Errorf("place %s: neither below /etc nor below /var", path)
}
