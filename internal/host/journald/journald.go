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
	out, err := j.lastLines(ctx, lines, "--unit="+unit)
	if err != nil {
		return nil, fmt.Errorf("read the log of %s: %w", unit, err)
	}
	return out, nil
}

// System implements host.Logs.
func (j *Journal) System(ctx context.Context, lines int) ([]byte, error) {
	out, err := j.lastLines(ctx, lines, "--priority=warning")
	if err != nil {
		return nil, fmt.Errorf("read the system journal: %w", err)
	}
	return out, nil
}

// Stored returns the last lines of the journal in a folder, such as the one that another stateroot has kept. There is none where the
// folder is missing.
func (j *Journal) Stored(ctx context.Context, folder string, lines int) ([]byte, error) {
	out, err := j.lastLines(ctx, lines, "--directory="+folder)
	if err != nil {
		return nil, fmt.Errorf("read the journal in %s: %w", folder, err)
	}
	return out, nil
}

// lastLines asks for the last lines that match. Their number bounds the question, never a time: a clock may have been
// set while the change ran. The output is no evidence for another journal.
func (j *Journal) lastLines(ctx context.Context, lines int, match string) ([]byte, error) {
	res, err := j.runner.Run(ctx, run.Command{SecretOutput: true, Argv: []string{
		"journalctl", match, "--no-pager", "--quiet", "--output=short-iso", "--lines=" + strconv.Itoa(lines),
	}})
	return res.Stdout, err
}
