package trees

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

// linking adds what the contract needs to try links.
type linking struct{ *files.Files }

// Symlink implements hostcontract.Linker.
func (l linking) Symlink(target, path string) error {
	full := filepath.Join(l.Root(), path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	return os.Symlink(target, full)
}

func TestContract(t *testing.T) {
	hostcontract.TestTrees(t, func(t *testing.T) hostcontract.TreesFixture {
		root := t.TempDir()
		return hostcontract.TreesFixture{
			Trees: New(Options{Root: root}),
			Files: linking{files.New(root)},
			Chtimes: func(path string, mtime time.Time) error {
				return os.Chtimes(filepath.Join(root, path), mtime, mtime)
			},
		}
	})
}
