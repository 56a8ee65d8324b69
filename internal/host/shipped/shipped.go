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
	"sync"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Files are the node's files, as package files has them.
type Files interface {
	host.Files
	// Open opens a file of the node with flags of open(2).
	Open(path string, flags int) (*os.File, error)
	// StatTarget is Stat of what a link at the end of the path leads to.
	StatTarget(path string) (fs.FileInfo, error)
	// WriteFrom is Write of what from yields.
	WriteFrom(path string, from io.Reader, mode fs.FileMode) error
}

// Program is one that came with the agent.
type Program struct {
	// Node is the node's file system.
	Node Files
	// Path is where this process finds it.
	Path string

	mu sync.Mutex
	// alike are the two files, as they were when they were last found to be the same.
	alike pair
}

// pair is what stat says of the program and of the node's file. The zero value is of no files.
type pair struct{ shipped, installed fs.FileInfo }

// Install puts the program where units of the node find it, unless it is there already. Before every request it would read the
// program twice: it is compared once, and again when either file has changed.
func (p *Program) Install() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	to, err := p.installPath()
	if err != nil {
		return err
	}
	from, err := os.Open(p.Path)
	if err != nil {
		return fmt.Errorf("read the lca-cli of the agent: %w", err)
	}
	defer from.Close()
	now := p.statBoth(from, to) // before the comparison: what changes meanwhile is compared again
	if p.alike.isUnchanged(now) {
		return nil
	}
	same, err := p.hasSameContent(from, to)
	if err != nil {
		return err
	}
	if same {
		p.alike = now
		return nil
	}
	return p.installFrom(from, to)
}

// statBoth looks at both files; the zero value where one cannot be looked at.
func (p *Program) statBoth(from *os.File, to string) pair {
	shipped, err := from.Stat()
	if err != nil {
		return pair{}
	}
	installed, err := p.Node.StatTarget(to)
	if err != nil {
		return pair{}
	}
	return pair{shipped, installed}
}

// isUnchanged says that both files are the ones of before: a program that is replaced is another file, one that is written has another
// time.
func (a pair) isUnchanged(b pair) bool {
	return a.shipped != nil && b.shipped != nil && isSameFile(a.shipped, b.shipped) && isSameFile(a.installed, b.installed)
}

func isSameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// installFrom replaces the node's file. The next call compares it once.
func (p *Program) installFrom(from io.ReadSeeker, to string) error {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the lca-cli of the agent: %w", err)
	}
	if err := p.Node.WriteFrom(to, from, 0o755); err != nil {
		return fmt.Errorf("install %s: %w", to, err)
	}
	return nil
}

// installPath is where units find lca-cli: /usr/local is a link into /var on ostree hosts, and a folder on others.
func (p *Program) installPath() (string, error) {
	ostree, err := host.HasDeployments(p.Node)
	if err != nil {
		return "", err
	}
	if ostree {
		return host.CLIInVar, nil
	}
	return host.CLI, nil
}

// hasSameContent compares the program with a file of the node. A file that cannot be read is another one.
func (p *Program) hasSameContent(from io.Reader, to string) (bool, error) {
	have, err := p.Node.Open(to, os.O_RDONLY)
	if err != nil {
		return false, nil // what cannot be read is replaced
	}
	defer have.Close()
	const piece = 64 << 10
	a, b := make([]byte, piece), make([]byte, piece)
	for {
		n, err := io.ReadFull(from, a)
		if err != nil && !isEOF(err) {
			return false, fmt.Errorf("read the lca-cli of the agent: %w", err)
		}
		m, haveErr := io.ReadFull(have, b)
		if !bytes.Equal(a[:n], b[:m]) || haveErr != nil && !isEOF(haveErr) {
			return false, nil
		}
		if err != nil || haveErr != nil {
			return err != nil && haveErr != nil, nil
		}
	}
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
