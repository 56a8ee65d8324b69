// Package network holds the verbs of "lca-cli network" that read and write nmstate documents: those of nmstatectl, with its
// flags, so that its users find what they know. cmd/lca-cli builds them; they parse flags and call internal/netstate and the
// network ports. They must not import an adapter.
package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Ports are the node's, for the verbs that look at it or change it.
type Ports struct {
	Network     host.Network
	Transaction host.NetworkTransaction
	Planner     host.NetworkPlanner
	// Prober proves a change before it is kept; nil proves nothing but that the document is in place.
	Prober host.Prober
}

// Wiring is what main gives the verbs.
type Wiring struct {
	verb.Wiring
	In io.Reader
	// Node builds the ports. Verbs that work on files alone do not call it.
	Node func(ctx context.Context) (Ports, error)
}

// Command is "network" with its verbs; main adds those of policies.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use: "network", Aliases: []string{"net"},
		Short: "Show, plan and change the network of this node by nmstate documents",
		Long: "Show, plan and change the network of this node by nmstate documents. The verbs and flags are those of nmstatectl where\n" +
			"it has them. A change is one transaction: it is verified and proved before it is kept, and rolled back\n" +
			"otherwise.",
	}
	cmd.AddCommand(w.newShowCommand(), w.newPlanCommand(), w.newApplyCommand(), w.newCommitCommand(), w.newRollbackCommand(),
		w.newDiffCommand(), w.newRevertCommand(), w.newPolicyCommand(), w.newFormatCommand(), w.newValidateCommand(),
		w.newMachineConfigCommand(), newGenConfCommand())
	return cmd
}

// newGenConfCommand answers nmstatectl's gc, which has no counterpart.
func newGenConfCommand() *cobra.Command {
	return &cobra.Command{
		Use: "gen-conf FILE", Aliases: []string{"gc"}, Hidden: true, Args: cobra.ArbitraryArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("gen-conf is not supported: this program changes running nodes only; " +
				"'lca-cli ipam render ignition' writes those of hosts with claimed addresses")
		},
	}
}

// readFile is the content of a file, or of standard input for "-".
func (w Wiring) readFile(name string) ([]byte, error) {
	in := w.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the network document: %w", err)
		}
		defer f.Close()
		in = f
	}
	// One byte more than is allowed is enough to know.
	data, err := io.ReadAll(io.LimitReader(in, tree.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the network document from %s: %w", name, err)
	}
	return data, nil
}

// readDocument reads a state.
func (w Wiring) readDocument(name string) (netstate.Document, error) {
	data, err := w.readFile(name)
	if err != nil {
		return netstate.Document{}, err
	}
	d, err := netstate.Decode(data)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// readDesired reads a state or a policy, which is resolved over the current state, and validates it.
func (w Wiring) readDesired(name string, current func() (netstate.Document, error)) (netstate.Document, error) {
	data, err := w.readFile(name)
	if err != nil {
		return netstate.Document{}, err
	}
	d, err := stateOrPolicy(data, current)
	if err == nil {
		err = netstate.Validate(d)
	}
	if err != nil {
		return netstate.Document{}, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
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

// currentOr reads the state from a file, or from this node where none is named.
func (w Wiring) currentOr(ctx context.Context, file string) (netstate.Document, error) {
	if file != "" {
		return w.readDocument(file)
	}
	return w.observeNode(ctx)
}
