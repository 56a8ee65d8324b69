package relocation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/report"
)

// NodeWiring is what main gives the verbs that run on a node.
type NodeWiring struct {
	verb.Wiring
	// Factory and Site build the ports. acting: the verb changes the node's sysroot.
	Factory func(ctx context.Context, acting bool) (factory.Ports, operation.Instruments, error)
	Site    func(ctx context.Context, acting bool) (onsite.Ports, operation.Instruments, error)
	NewID   func() string
	// Report builds what the shipping report reads, and Machine names the machine as on its label.
	Report  func(ctx context.Context) (report.Ports, error)
	Machine func() string
	// Alive tells the service manager that a watchdog is not stuck.
	Alive func()
}

// NodeCommands are the verbs that run on a node.
func NodeCommands(w NodeWiring) []*cobra.Command {
	return []*cobra.Command{w.newPrepareCommand(), w.newVerifyCommand(), w.newAbortCommand(), w.newApplyCommand(),
		w.newReconfigureCommand(), w.newMonitorCommand(), w.newRollbackCommand(), w.newCommitCommand(),
		w.newHandoverCommand(), w.newStatusCommand()}
}

func (w NodeWiring) newPrepareCommand() *cobra.Command {
	var run bool
	var want factory.Wanted
	var internal string
	cmd := &cobra.Command{
		Use: "prepare", Args: cobra.NoArgs,
		Short: "Make this node ready to be shipped to a site (runs as " + relocation.UnitPrepare + ")",
		Long: "Copy the running cluster into a stateroot that waits for its site's configuration at the next boot. The factory's\n" +
			"stateroot stays as it is, and is the way back on site. The cluster is down while the last differences are\n" +
			"copied. 'lca-cli relocation abort' undoes it.\n\n" +
			"Certificates are renewed on site, however long the node was switched off. One that ends before --shelf-days and\n" +
			"cannot be renewed there, because the key of its authority is not in the cluster, is named and refused.",
		Example: "  lca-cli relocation prepare && lca-cli relocation verify && systemctl poweroff",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if run {
				return w.prepareHere(cmd.Context())
			}
			if internal != "" {
				if want.Internal, err = netip.ParsePrefix(internal); err != nil {
					return fmt.Errorf("--internal-address %q is not an address with a prefix length, such as 192.0.2.1/29", internal)
				}
			}
			return w.prepareDetached(cmd.Context(), want)
		},
	}
	cmd.Flags().DurationVar(&want.Watchdog, "watchdog", 45*time.Minute,
		"how long a reconfiguration may take on site before the node goes back")
	cmd.Flags().IntVar(&want.ShelfDays, "shelf-days", defaultShelfDays,
		"for how many days the node may be switched off; 0 checks no certificate")
	cmd.Flags().StringVar(&internal, "internal-address", "",
		"the node's known address while it waits on site, such as 192.0.2.1/29; a laptop gets the next one by DHCP")
	verb.AddRunFlag(cmd, &run)
	return cmd
}

// defaultShelfDays is for how long a node may lie between factory and site.
const defaultShelfDays = 30

func (w NodeWiring) prepareHere(ctx context.Context) error {
	node, with, err := w.Factory(ctx, true)
	if err != nil {
		return err
	}
	return w.RunHere(ctx, relocation.FlowPrepare, "relocation prepare", func(ctx context.Context) error {
		return factory.Run(ctx, node, with)
	})
}

func (w NodeWiring) prepareDetached(ctx context.Context, want factory.Wanted) error {
	node, _, err := w.Factory(ctx, false)
	if err != nil {
		return err
	}
	r, err := factory.Prepare(ctx, node, w.NewID(), want)
	if err != nil {
		return w.Verdict("relocation prepare", err)
	}
	err = w.CarryOut(ctx, verb.Errand{
		Kind: factory.Kind(node).Facts(), Node: node.Node, Operation: r.OperationID,
		Description: "Lifecycle Agent: make this node ready for its site", Args: []string{"relocation", "prepare", "--run"},
	}, "prepare the node")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Out, "the node boots stateroot %s next and waits for its site there; switch it off to ship it\n", r.Site)
	return err
}

func (w NodeWiring) newAbortCommand() *cobra.Command {
	var run bool
	cmd := &cobra.Command{
		Use: "abort", Aliases: []string{"cancel"}, Args: cobra.NoArgs,
		Short: "Undo a preparation in the factory state, and start the factory's cluster",
		Long: "Remove the stateroot that waits for its site, and have the factory's cluster run: at once where it is held back, as\n" +
			"after 'lca-cli relocation rollback', and at every boot. A preparation that is under way is stopped and undone.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if run {
				return w.cancelHere(cmd.Context())
			}
			return w.cancelDetached(cmd.Context())
		},
	}
	verb.AddRunFlag(cmd, &run)
	return cmd
}

func (w NodeWiring) cancelHere(ctx context.Context) error {
	node, with, err := w.Factory(ctx, true)
	if err != nil {
		return err
	}
	if done, err := w.abortPreparation(ctx, node, with); done || err != nil {
		return w.Verdict("relocation abort", err)
	}
	c := factory.Cancellation{Ports: node, With: with}
	if !c.Unswept() { // else nothing is left that could hold the node
		if err := c.Ask(ctx); err != nil {
			return w.Verdict("relocation abort", err)
		}
	}
	return w.RunHere(ctx, relocation.FlowCancel, "relocation abort", c.Run)
}

// abortPreparation stops a preparation that is under way, which undoes itself then, and does what is left of that. done: nothing
// of it remains, so there is nothing to cancel.
func (w NodeWiring) abortPreparation(ctx context.Context, node factory.Ports, with operation.Instruments) (done bool, err error) {
	kind := factory.Kind(node)
	if _, found, err := kind.Underway(ctx, node.Machine().Intake()); err != nil || !found {
		return false, err
	}
	release, err := w.TakeFromUnit(ctx, node.Units, kind.Unit, kind.Holder(node.Files), "relocation abort")
	if err != nil {
		return false, err
	}
	defer release()
	if err := factory.AbortPreparation(ctx, node, with); err != nil {
		return false, err
	}
	prepared, err := isPrepared(node)
	return !prepared, err
}

func isPrepared(node factory.Ports) (bool, error) {
	_, err := relocation.ReadRecord(node.Files)
	if errors.Is(err, operation.ErrRefused) {
		return false, nil
	}
	return true, err
}

// cancelDetached: the start of the cluster moves the node's address to another link, which may end the terminal.
func (w NodeWiring) cancelDetached(ctx context.Context) error {
	node, _, err := w.Factory(ctx, false)
	if err != nil {
		return err
	}
	record, underway, err := factory.Kind(node).Underway(ctx, node.Machine().Intake())
	if err != nil {
		return w.Verdict("relocation abort", err)
	}
	if !underway {
		c := factory.Cancellation{Ports: node}
		if c.Unswept() {
			return w.Verdict("relocation abort", c.Run(ctx))
		}
		if err := c.Check(ctx); err != nil {
			return w.Verdict("relocation abort", err)
		}
		if record, err = relocation.ReadRecord(node.Files); err != nil {
			return w.Verdict("relocation abort", err)
		}
	}
	p, err := w.Follow(ctx, verb.Detached{
		Transients: node.Transients, Units: node.Units, Files: node.Files, Unit: relocation.UnitCancel, Operation: record.OperationID,
		Description: "Lifecycle Agent: give the factory's cluster back", Args: []string{"relocation", "cancel", "--run"},
	})
	if err != nil {
		return err
	}
	if prepared, err := isPrepared(node); err != nil || prepared {
		failure := cmp.Or(p.Flow(relocation.FlowCancel).Failure, p.Flow(relocation.FlowPrepare).Failure)
		return errors.Join(err,
			&verb.FinalError{Cause: fmt.Errorf("cancel the preparation: %s (see journalctl -u %s)", failure, relocation.UnitCancel)})
	}
	_, err = fmt.Fprintln(w.Out, "the node is an ordinary one again; the factory's cluster runs")
	return err
}

// openService opens the node's side of the flow on site. Reconfigure takes the node's lock for each attempt, not for the wait.
func (w NodeWiring) openService(ctx context.Context, acting bool) (*onsite.Service, error) {
	ports, with, err := w.Site(ctx, acting)
	if err != nil {
		return nil, err
	}
	return &onsite.Service{Ports: ports, With: with}, nil
}

func (w NodeWiring) newReconfigureCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reconfigure", Args: cobra.NoArgs,
		Short: "Wait for the site's configuration and carry it out (run by " + relocation.UnitReconfigure + ")",
		Long: "Wait for a configuration on a volume, in a directory of the node or from the page, and make the node at home with\n" +
			"it. 'lca-cli relocation status --watch' shows it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.openService(cmd.Context(), true)
			if err != nil {
				return err
			}
			return w.Verdict("relocation reconfigure", s.Run(cmd.Context()))
		},
	}
}

func (w NodeWiring) newMonitorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "monitor", Args: cobra.NoArgs,
		Short: "Have the node go back when the reconfiguration is not proved in time (run by " + relocation.UnitMonitor + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.openService(cmd.Context(), false)
			if err != nil {
				return err
			}
			return w.Verdict("relocation monitor", s.Watch(cmd.Context(), w.Alive))
		},
	}
}

func (w NodeWiring) newRollbackCommand() *cobra.Command {
	var run bool
	cmd := &cobra.Command{
		Use: "rollback", Args: cobra.NoArgs,
		Short: "Reboot into the factory state, where the node waits for another configuration",
		Long: "Reboot into the factory state. The request is stored first: a power cut does not lose it. In the factory state the node\n" +
			"waits for another configuration; 'lca-cli relocation abort' there starts the factory's cluster instead.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			s, err := w.openService(ctx, run)
			if err != nil {
				return err
			}
			if run {
				return w.Verdict("relocation rollback", s.RollBack(ctx, func(ctx context.Context) (func(), error) {
					return w.TakeOrProceed(ctx, relocation.FlowReconfigure, "relocation rollback")
				}))
			}
			if err := s.AskBack(ctx, onsite.CauseRequested); err != nil {
				return w.Verdict("relocation rollback", err)
			}
			_, err = fmt.Fprintf(w.Out, "the node goes back to the factory state and reboots; follow it with 'journalctl -fu %s'\n",
				relocation.UnitRollback)
			return err
		},
	}
	verb.AddRunFlag(cmd, &run)
	return cmd
}

func (w NodeWiring) newCommitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "commit", Aliases: []string{"keep"}, Args: cobra.NoArgs,
		Short: "Commit the relocation: remove the factory stateroot; rollback is no longer possible",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.openService(cmd.Context(), true)
			if err != nil {
				return err
			}
			return w.RunHere(cmd.Context(), relocation.FlowKeep, "relocation commit", s.Keep)
		},
	}
}
