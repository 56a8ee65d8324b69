package ostree

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

var _ host.Commits = (*Deployments)(nil)

// repo is the node's own repository.
const repo = "/sysroot/ostree/repo"

// Import implements host.Commits. ostree links the objects where both repositories are on one file system, and proves
// each one's checksum.
func (d *Deployments) Import(ctx context.Context, from, checksum string) error {
	_, err := d.runner.Run(ctx, run.Command{
		Argv: []string{"ostree", "--repo=" + repo, "pull-local", "--untrusted", from, checksum}, Timeout: slow,
	})
	if err != nil {
		return fmt.Errorf("import commit %s from %s: %w", checksum, from, err)
	}
	return nil
}

// RPMOSTree is the verbose status of rpm-ostree, for host.SystemReports.
func (d *Deployments) RPMOSTree(ctx context.Context) ([]byte, error) {
	res, err := d.runner.Run(ctx, run.Command{Argv: []string{"rpm-ostree", "status", "--verbose", "--json"}, Timeout: quick})
	if run.NotFound(err) {
		return nil, fmt.Errorf("rpm-ostree: %w", fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("ask rpm-ostree for its status: %w", err)
	}
	return res.Stdout, nil
}
