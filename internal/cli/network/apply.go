package network

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// flow is what the node's lock says of these verbs.
const flow = "network"

// lease is how long a change waits for its confirmation; nmstatectl's default.
const lease = 60

type application struct {
	form
	noCommit, noVerify, kernel, memory, noProbe bool
	timeout                                     int
}

func (w Wiring) newApplyCommand() *cobra.Command {
	var a application
	cmd := &cobra.Command{
		Use: "apply [FILE...]", Aliases: []string{"set", "a"},
		Short: "Apply documents or policies to this node, and roll back what fails",
		Long: "Apply documents or policies to this node, one after the other; without a file, or with -, from standard input. What was\n" +
			"changed is printed. A change that cannot be applied, verified or proved is rolled back, and so is one that was applied\n" +
			"with --no-commit and is not committed before the timeout, even if this program or NetworkManager ends.\n\n" +
			"The proof: a gateway that answered before the change must answer after it, unless the document removes its route. A\n" +
			"change of the only uplink whose gateway does not answer before is refused, unless the document names another gateway,\n" +
			"which then has to answer, or --no-probe is given.",
		RunE: func(cmd *cobra.Command, files []string) error {
			if cmd.CalledAs() == "set" {
				w.Log.Warn("'set' is an old name of 'apply' and will go; use 'apply'")
			}
			return w.applyAll(cmd.Context(), a, files)
		},
	}
	a.addFlags(cmd)
	cmd.Flags().BoolVar(&a.noCommit, "no-commit", false, "leave the change uncommitted, for 'commit' or 'rollback'")
	cmd.Flags().IntVar(&a.timeout, "timeout", lease, "seconds after which an uncommitted change is rolled back")
	cmd.Flags().BoolVar(&a.memory, "memory-only", false, "keep the change until the next boot only")
	cmd.Flags().BoolVar(&a.noProbe, "no-probe", false,
		"do not ask gateways before a change is kept; a change of the only uplink then needs none that answers")
	cmd.Flags().BoolVar(&a.noVerify, "no-verify", false, "not supported")
	cmd.Flags().BoolVarP(&a.kernel, "kernel", "k", false, "not supported")
	return cmd
}

func (a application) checkFlags(files []string) error {
	switch {
	case a.kernel:
		return errKernel
	case a.noVerify:
		return errors.New("--no-verify is not supported: every change is verified before it is kept; inspect one first with --no-commit")
	case a.timeout < 1 || a.timeout > 86400:
		return fmt.Errorf("--timeout %d is outside 1-86400 seconds", a.timeout)
	case a.noCommit && len(files) > 1:
		return errors.New("--no-commit takes one file: one change at a time can wait for a commit")
	}
	return nil
}

func (a application) networkOptions() []host.NetworkOption {
	if a.memory {
		return []host.NetworkOption{host.NetworkEphemeral}
	}
	return nil
}

func (w Wiring) applyAll(ctx context.Context, a application, files []string) error {
	if err := a.checkFlags(files); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	node, err := w.Node(ctx)
	if err != nil {
		return err
	}
	release, err := w.Take(ctx, flow, "network apply")
	if err != nil {
		return err
	}
	defer release()
	for _, name := range files {
		if err := w.applyOne(ctx, node, a, name); err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
	}
	return nil
}

func (w Wiring) applyOne(ctx context.Context, node Ports, a application, name string) error {
	now, err := node.Network.Observe(ctx)
	if err != nil {
		return err
	}
	want, err := w.documents().readDesired(name, func() (netstate.Document, error) { return now, nil })
	if err != nil {
		return err
	}
	changed := netstate.Diff(now, want)
	prove := proof{
		node: node, before: now, want: want,
		suite:     probing.Suite{Prober: node.Prober, Network: node.Network, Clock: w.Clock, Timeout: probeTime},
		unchanged: len(netstate.Compare(want, now)) == 0 && reflect.DeepEqual(changed, netstate.Document{}),
	}
	if a.noProbe {
		prove.node.Prober = nil
	}
	if err := prove.chooseGateways(ctx); err != nil {
		return err
	}
	if a.noCommit {
		if err := w.beginUncommitted(ctx, node, a, want, prove); err != nil {
			return err
		}
	} else if err := node.Network.Apply(ctx, want, prove.probeGateways, a.networkOptions()...); err != nil {
		return err
	}
	if err := w.warnUnanswered(ctx, node, want); err != nil {
		return err
	}
	return w.documents().printDocument(a.form, changed)
}

// warnUnanswered says which interfaces still wait for their network.
func (w Wiring) warnUnanswered(ctx context.Context, node Ports, want netstate.Document) error {
	got, err := node.Network.Observe(ctx)
	if err != nil {
		return fmt.Errorf("the document is in force, but what it brought could not be observed: %w", err)
	}
	for _, sentence := range netstate.Unanswered(want, got) {
		w.Log.Warn("the network has not answered; NetworkManager goes on asking", "missing", sentence)
	}
	return nil
}

// beginUncommitted leaves the change unconfirmed, but for one that does not pass its proof.
func (w Wiring) beginUncommitted(ctx context.Context, node Ports, a application, want netstate.Document, prove proof) error {
	pending, err := node.Transaction.Begin(ctx, want, time.Duration(a.timeout)*time.Second, a.networkOptions()...)
	if err != nil {
		return err
	}
	if !pending {
		w.Log.Info("everything is in place; there is nothing to commit")
		return nil
	}
	if err := prove.probeGateways(ctx); err != nil {
		if back := node.Transaction.Rollback(ctx); back != nil {
			return fmt.Errorf("%w; roll back the change: %w", err, back)
		}
		return fmt.Errorf("%w; the change is rolled back", err)
	}
	w.Log.Info("the change is rolled back at the timeout unless 'lca-cli network commit' keeps it", "seconds", a.timeout)
	return nil
}

func (w Wiring) newCommitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "commit [CHECKPOINT]", Args: cobra.MaximumNArgs(1),
		Short: "Keep the change that waits for a commit",
		Long: "Keep the change that was applied with --no-commit. With the name of a checkpoint of another program, which\n" +
			"'lca-cli network status' lists, keep the network that runs and end that checkpoint.",
		RunE: func(cmd *cobra.Command, names []string) error {
			return w.endTransaction(cmd.Context(), ending{verb: "commit", keep: true, names: names, own: host.NetworkTransaction.Commit})
		},
	}
}

func (w Wiring) newRollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rollback [CHECKPOINT]", Args: cobra.MaximumNArgs(1),
		Short: "Roll back the change that waits for a commit",
		Long: "Roll back the change that was applied with --no-commit. With the name of a checkpoint of another program, which\n" +
			"'lca-cli network status' lists, restore the network of that checkpoint and end it.",
		RunE: func(cmd *cobra.Command, names []string) error {
			return w.endTransaction(cmd.Context(), ending{verb: "rollback", names: names, own: host.NetworkTransaction.Rollback})
		},
	}
}

// ending is how a change that waits is settled: the product's own, or that of another program that a checkpoint names.
type ending struct {
	verb  string
	keep  bool
	names []string
	own   func(host.NetworkTransaction, context.Context) error
}

func (w Wiring) endTransaction(ctx context.Context, e ending) error {
	node, err := w.Node(ctx)
	if err != nil {
		return err
	}
	foreign, err := e.isForeign(ctx, node)
	if err == nil && foreign {
		// Without the node's lock: who has it may be waiting for the end of this very checkpoint.
		err = node.Trials.EndTrial(ctx, e.names[0], e.keep)
	} else if err == nil {
		err = w.endOwn(ctx, node, e)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.verb, err)
	}
	w.Log.Info("done", "verb", "network "+e.verb)
	return nil
}

// isForeign says that another program's checkpoint was named. Any other name is taken for that of the product's own change, which
// nmstatectl's users give.
func (e ending) isForeign(ctx context.Context, node Ports) (bool, error) {
	if len(e.names) == 0 {
		return false, nil
	}
	trials, err := node.Trials.Trials(ctx)
	return slices.ContainsFunc(trials, func(t host.NetworkTrial) bool { return t.ID == e.names[0] }), err
}

func (w Wiring) endOwn(ctx context.Context, node Ports, e ending) error {
	release, err := w.Take(ctx, flow, "network "+e.verb)
	if err != nil {
		return err
	}
	defer release()
	return e.own(node.Transaction, ctx)
}
