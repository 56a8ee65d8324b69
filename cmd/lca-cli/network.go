package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	policyverbs "github.com/lifecycle-agent/lifecycle-agent/internal/cli/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// newNetworkCommand is "network": the verbs of documents that need a node, and those by which the agent has a node enact policies.
func newNetworkCommand(shared verb.Wiring, open opener, node host.Node) *cobra.Command {
	cmd := network.Command(network.Wiring{Wiring: shared, In: os.Stdin, Node: networkPorts(node)})
	cmd.AddCommand(policyverbs.Commands(policyverbs.Wiring{
		Wiring: shared, Node: open.openNetPolicy, NewID: newOperationID, RecoverFiles: open.recoverFiles,
	})...)
	for _, moved := range [][]string{
		{"diff", "gd", "gen-diff"}, {"revert", "gr", "gen-revert"}, {"policy", "p"}, {"format", "f", "fmt"}, {"validate"},
		{"machineconfig", "mc"},
	} {
		cmd.AddCommand(newMovedCommand(moved[0], moved[1:]...))
	}
	return cmd
}

// openNetPolicy builds the ports of a policy's enactment. Only files below /var and /etc change: the sysroot stays as it is.
func (o opener) openNetPolicy(ctx context.Context) (netpolicy.Ports, operation.Instruments, error) {
	node, with, err := o.openNode(ctx, false)
	return netPolicyPorts(node, o.log), with, err
}

func netPolicyPorts(node host.Node, log *slog.Logger) netpolicy.Ports {
	return netpolicy.Ports{Node: node, Clock: flow.SystemClock{}, Log: log}
}

// recoverFiles settles an interrupted change before NetworkManager starts.
func (o opener) recoverFiles(ctx context.Context) error {
	n := nm.New(nm.Options{Bus: nm.SystemBus(""), Files: files.New("/"), StateDir: networkState, Log: o.log})
	return n.RecoverFiles(ctx)
}

// networkPorts are what the network verbs need of the node.
func networkPorts(node host.Node) func(context.Context) (network.Ports, error) {
	return func(context.Context) (network.Ports, error) {
		both, ok := node.Network.(interface {
			host.NetworkTransaction
			host.NetworkPlanner
			host.NetworkTrials
		})
		if !ok {
			return network.Ports{}, errors.New("the network of this node cannot be changed in steps")
		}
		return network.Ports{Network: node.Network, Transaction: both, Planner: both, Trials: both, Prober: node.Prober}, nil
	}
}
