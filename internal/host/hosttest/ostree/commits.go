package ostree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Commits is the node's host.Commits. Every commit has the same content; a node knows its own, and those imported.
func (n *Sysroot) Commits() host.Commits { return commits{n} }

type commits struct{ n *Sysroot }

func (c commits) Import(_ context.Context, repo, checksum string) error {
	n := c.n
	n.Enter()
	defer n.Unlock()
	config := path.Join(repo, "config")
	if _, _, err := n.Look(config, true); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("import commit %s from %s: %w", checksum, repo, err)
	}
	if err := n.Change("commits.import", checksum); err != nil {
		return err
	}
	n.imported = append(n.imported, checksum)
	return nil
}

func (c commits) DeployCommit(_ context.Context, stateroot, checksum string, arguments []string) (host.Deployment, error) {
	n := c.n
	n.Enter()
	defer n.Unlock()
	fail := func(err error) (host.Deployment, error) {
		return host.Deployment{}, fmt.Errorf("deploy commit %s into stateroot %s: %w", checksum, stateroot, err)
	}
	if err := named(stateroot); err != nil {
		return fail(err)
	}
	if i, ok := n.FirstOf(stateroot); ok && n.menu[i].Checksum != checksum {
		return fail(fmt.Errorf("it has commit %s already", n.menu[i].Checksum))
	}
	deployed := slices.ContainsFunc(n.menu, func(d host.Deployment) bool { return d.Checksum == checksum })
	if !deployed && !slices.Contains(n.imported, checksum) {
		return fail(errors.New("the repository does not have it"))
	}
	n.arguments[stateroot] = slices.Clone(arguments)
	return n.deploy(stateroot, checksum)
}

// ArgumentsOf are the kernel arguments with which a stateroot was deployed.
func (n *Sysroot) ArgumentsOf(stateroot string) []string {
	n.Lock()
	defer n.Unlock()
	return slices.Clone(n.arguments[stateroot])
}
