// Package journald reads unit logs with journalctl. It implements host.Logs for
// lca-cli and imports ports and the command runner only.
package journald

import (
	"context"
	"fmt"
	"strconv"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// Journal is the node's system journal.
type Journal struct {
	runner run.Runner
}

// New reads the journal through the runner.
func New(runner run.Runner) *Journal { return &Journal{runner: runner} }

// Unit implements host.Logs.
func (j *Journal) Unit(ctx context.Context, unit string, lines int) ([]byte, error) {
	res, err := j.runner.Run(ctx, run.Command{Argv: []string{
		"journalctl", "--unit", unit, "--boot", "--no-pager", "--quiet", "--output=short-iso", "--lines=" + strconv.Itoa(lines),
	}})
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", unit, err)
	}
	return res.Stdout, nil
}
