package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/gather"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/journald"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
)

// newGatherCommand is "must-gather", which only reads.
func newGatherCommand(open opener) *cobra.Command {
	return gather.Command(gather.Wiring{Out: os.Stdout, Now: time.Now, Node: func(ctx context.Context) (gather.Node, error) {
		node, _, err := open.openNode(ctx, false)
		return gather.Node{
			Files: node.Files, Deployments: node.Deployments, Units: node.Units, Network: node.Network, Logs: node.Logs,
			Journals: journald.New(run.New(run.Options{})),
		}, err
	}})
}
