package trees

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
)

// linking adds what the contract needs to try links.
type linking struct{ *files.Files }

// Symlink implements hosttest.Linker.
func (l linking) Symlink(target, path string) error {
	full := filepath.Join(l.Root(), path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	return os.Symlink(target, full)
}

func TestContract(t *testing.T) {
	hosttest.TreesContract(t, func(t *testing.T) hosttest.TreesFixture {
		root := t.TempDir()
		return hosttest.TreesFixture{
			Trees: New(Options{Root: root}),
			Files: linking{files.New(root)},
			Chtimes: func(path string, mtime time.Time) error {
				return os.Chtimes(filepath.Join(root, path), mtime, mtime)
			},
		}
	})
}
