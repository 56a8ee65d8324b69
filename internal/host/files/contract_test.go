package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

// linking adds what the contract needs to try links.
type linking struct{ *Files }

// Symlink implements hostcontract.Linker.
func (l linking) Symlink(target, path string) error {
	full := filepath.Join(l.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		return err
	}
	return os.Symlink(target, full)
}

func TestContract(t *testing.T) {
	hostcontract.TestFiles(t, func(t *testing.T) host.Files { return linking{New(t.TempDir())} })
}
