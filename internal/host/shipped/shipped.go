// Package shipped installs on a node the lca-cli of the agent's own image. cmd/lifecycle-agent composes it for the controllers of the
// node role, which call it before they hand a request over. It imports host and the standard library only.
//
// A program has tens of megabytes: it is compared and copied piece by piece, so that the agent stays small.
package shipped

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Files are the node's files, as package files has them.
type Files interface {
	host.Files
	// Open opens a file of the node with flags of open(2).
	Open(path string, flags int) (*os.File, error)
	// WriteFrom is Write of what from yields.
	WriteFrom(path string, from io.Reader, mode fs.FileMode) error
}

// Program is one that came with the agent.
type Program struct {
	Node Files
	// Path is where this process finds it.
	Path string
}

// Install puts the program where units of the node find it, unless it is there already.
func (p Program) Install() error {
	from, err := os.Open(p.Path)
	if err != nil {
		return fmt.Errorf("read the lca-cli of the agent: %w", err)
	}
	defer from.Close()
	to, err := p.target()
	if err != nil {
		return err
	}
	same, err := p.same(from, to)
	if err != nil || same {
		return err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the lca-cli of the agent: %w", err)
	}
	if err := p.Node.WriteFrom(to, from, 0o755); err != nil {
		return fmt.Errorf("install %s: %w", to, err)
	}
	return nil
}

// target is where units find lca-cli: /usr/local is a link into /var on ostree hosts, and a folder on others.
func (p Program) target() (string, error) {
	ostree, err := host.HasDeployments(p.Node)
	if err != nil {
		return "", err
	}
	if ostree {
		return host.CLIInVar, nil
	}
	return host.CLI, nil
}

// same compares the program with a file of the node. A file that cannot be read is another one.
func (p Program) same(from io.Reader, to string) (bool, error) {
	have, err := p.Node.Open(to, os.O_RDONLY)
	if err != nil {
		return false, nil // what cannot be read is replaced
	}
	defer have.Close()
	const piece = 64 << 10
	a, b := make([]byte, piece), make([]byte, piece)
	for {
		n, err := io.ReadFull(from, a)
		if err != nil && !ends(err) {
			return false, fmt.Errorf("read the lca-cli of the agent: %w", err)
		}
		m, haveErr := io.ReadFull(have, b)
		if !bytes.Equal(a[:n], b[:m]) || haveErr != nil && !ends(haveErr) {
			return false, nil
		}
		if err != nil || haveErr != nil {
			return err != nil && haveErr != nil, nil
		}
	}
}

func ends(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
