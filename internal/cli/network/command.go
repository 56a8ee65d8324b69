// Package network holds the verbs of "network" that read and write nmstate documents: those of nmstatectl, with its flags, so
// that its users find what they know. cmd/lca-cli builds those that need a node, cmd/kubectl-lca those of files; they parse flags
// and call internal/netstate and the network ports. They must not import an adapter.
package network

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
)

// Ports are the node's, for the verbs that look at it or change it.
type Ports struct {
	Network     host.Network
	Transaction host.NetworkTransaction
	Planner     host.NetworkPlanner
	Trials      host.NetworkTrials
	// Prober proves a change before it is kept; nil proves nothing but that the document is in place.
	Prober host.Prober
}

// Wiring is what main gives the verbs.
type Wiring struct {
	verb.Wiring
	In io.Reader
	// Node builds the ports.
	Node func(ctx context.Context) (Ports, error)
}

func (w Wiring) documents() Documents { return Documents{In: w.In, Out: w.Out} }

// Command is "network" with its verbs; main adds those of policies.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use: "network", Aliases: []string{"net"},
		Short: "Show, plan and change the network of this node by nmstate documents",
		Long: "Show, plan and change the network of this node by nmstate documents. The verbs and flags are those of nmstatectl where\n" +
			"it has them. A change is one transaction: it is verified and proved before it is kept, and rolled back\n" +
			"otherwise.",
	}
	cmd.AddCommand(w.newShowCommand(), w.newStatusCommand(), w.newPlanCommand(), w.newApplyCommand(), w.newCommitCommand(),
		w.newRollbackCommand(), newGenConfCommand())
	return cmd
}

// newGenConfCommand answers nmstatectl's gc, which has no counterpart.
func newGenConfCommand() *cobra.Command {
	return &cobra.Command{
		Use: "gen-conf FILE", Aliases: []string{"gc"}, Hidden: true, Args: cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("gen-conf is not supported: this program changes running nodes only; " +
				"'kubectl lca ipam render ignition' writes those of hosts with claimed addresses")
		},
	}
}

func stateOrPolicy(data []byte, current func() (netstate.Document, error)) (netstate.Document, error) {
	p, err := policy.Read(data)
	if err != nil { // also a document that is no YAML: the decoder says it with the line
		return netstate.Decode(data)
	}
	if len(p.Captures) == 0 {
		return netstate.Decode(p.Desired)
	}
	now, err := current()
	if err != nil {
		return netstate.Document{}, err
	}
	r, err := policy.Resolve(p, now, nil)
	return r.Desired, err
}

// observeNode is the state of this node.
func (w Wiring) observeNode(ctx context.Context) (netstate.Document, error) {
	p, err := w.Node(ctx)
	if err != nil {
		return netstate.Document{}, err
	}
	return p.Network.Observe(ctx)
}
