package relocation

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
)

// NodeWiring is what main gives the verbs that run on a node.
type NodeWiring struct {
	verb.Wiring
	// Factory and Site build the ports. acting: the verb changes the node's sysroot.
	Factory func(ctx context.Context, acting bool) (factory.Ports, operation.Instruments, error)
	Site    func(ctx context.Context, acting bool) (onsite.Ports, operation.Instruments, error)
	NewID   func() string
	// Alive tells the service manager that a watchdog is not stuck.
	Alive func()
}

// NodeCommands are the verbs that run on a node.
func NodeCommands(w NodeWiring) []*cobra.Command {
	return []*cobra.Command{w.prepare(), w.cancel(), w.reconfigure(), w.monitor(), w.rollback(), w.keep(), w.handover(), w.status()}
}

func (w NodeWiring) prepare() *cobra.Command {
	var run bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use: "prepare", Args: cobra.NoArgs,
		Short: "Make this node ready to be shipped to a site (runs as " + relocation.UnitPrepare + ")",
		Long: "Copy the running cluster into a stateroot that waits for its site's configuration at the next boot. The factory's\n" +
			"stateroot stays as it is, and is the way back on site. The cluster is down while the last differences are\n" +
			"copied. 'lca-cli relocation cancel' undoes it.",
		Example: "  lca-cli relocation prepare && systemctl poweroff",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if run {
				return w.prepareHere(cmd.Context())
			}
			return w.prepareDetached(cmd.Context(), limit)
		},
	}
	cmd.Flags().DurationVar(&limit, "watchdog", 45*time.Minute, "how long a reconfiguration may take on site before the node goes back")
	cmd.Flags().BoolVar(&run, "run", false, "run the steps in this process, as the unit does")
	_ = cmd.Flags().MarkHidden("run")
	return cmd
}

func (w NodeWiring) prepareHere(ctx context.Context) error {
	node, with, err := w.Factory(ctx, true)
	if err != nil {
		return err
	}
	release, err := w.Take(ctx, relocation.FlowPrepare, "relocation prepare")
	if err != nil {
		return err
	}
	defer release()
	return w.Verdict("relocation prepare", factory.Run(ctx, node, with))
}

func (w NodeWiring) prepareDetached(ctx context.Context, limit time.Duration) error {
	node, _, err := w.Factory(ctx, false)
	if err != nil {
		return err
	}
	r, err := factory.Prepare(ctx, node, w.NewID(), limit)
	if err != nil {
		return w.Verdict("relocation prepare", err)
	}
	p, err := w.Follow(ctx, verb.Detached{
		Transients: node.Transients, Units: node.Units, Files: node.Files, Unit: relocation.UnitPrepare, Operation: r.OperationID,
		Description: "Lifecycle Agent: make this node ready for its site", Args: []string{"relocation", "prepare", "--run"},
	})
	if err != nil {
		return err
	}
	if f := p.Flow(relocation.FlowPrepare); !f.Finished {
		return &verb.FinalError{Cause: fmt.Errorf("prepare the node: %s (see journalctl -u %s)", f.Failure, relocation.UnitPrepare)}
	}
	_, err = fmt.Fprintf(w.Out, "the node boots stateroot %s next and waits for its site there; switch it off to ship it\n", r.Site)
	return err
}

func (w NodeWiring) cancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel", Args: cobra.NoArgs, Short: "Undo a preparation, while the factory's cluster runs",
		RunE: func(cmd *cobra.Command, _ []string) error {
			node, with, err := w.Factory(cmd.Context(), true)
			if err != nil {
				return err
			}
			release, err := w.Take(cmd.Context(), relocation.FlowCancel, "relocation cancel")
			if err != nil {
				return err
			}
			defer release()
			return w.Verdict("relocation cancel", factory.Cancel(cmd.Context(), node, with))
		},
	}
}

// station opens the node's side of the flow on site. Reconfigure takes the node's lock for each attempt, not for the wait.
func (w NodeWiring) station(ctx context.Context, acting bool) (*onsite.Station, error) {
	ports, with, err := w.Site(ctx, acting)
	if err != nil {
		return nil, err
	}
	return &onsite.Station{Ports: ports, With: with}, nil
}

func (w NodeWiring) reconfigure() *cobra.Command {
	return &cobra.Command{
		Use: "reconfigure", Args: cobra.NoArgs,
		Short: "Wait for the site's configuration and carry it out (run by " + relocation.UnitReconfigure + ")",
		Long: "Wait for a configuration on a volume, in a directory of the node or from the page, and make the node at home with\n" +
			"it. 'lca-cli relocation status --watch' shows it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.station(cmd.Context(), true)
			if err != nil {
				return err
			}
			return w.Verdict("relocation reconfigure", s.Run(cmd.Context()))
		},
	}
}

func (w NodeWiring) monitor() *cobra.Command {
	return &cobra.Command{
		Use: "monitor", Args: cobra.NoArgs,
		Short: "Go back when the reconfiguration is not proved in time (run by " + relocation.UnitMonitor + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.station(cmd.Context(), true)
			if err != nil {
				return err
			}
			release := func() {}
			defer func() { release() }()
			return w.Verdict("relocation monitor", s.Watch(cmd.Context(), w.Alive, func(ctx context.Context) (err error) {
				if err := s.Units.Stop(ctx, relocation.UnitReconfigure); err != nil {
					return fmt.Errorf("stop %s: %w", relocation.UnitReconfigure, err)
				}
				release, err = w.TakeOrProceed(ctx, relocation.FlowReconfigure, "relocation monitor")
				return err
			}))
		},
	}
}

func (w NodeWiring) rollback() *cobra.Command {
	return &cobra.Command{
		Use: "rollback", Args: cobra.NoArgs,
		Short: "Reboot into the factory state, where the node waits for another configuration",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			s, err := w.station(ctx, true)
			if err != nil {
				return err
			}
			b, err := s.OpenBack(ctx, onsite.CauseRequested)
			if err != nil {
				return w.Verdict("relocation rollback", err)
			}
			if err := s.Units.Stop(ctx, relocation.UnitReconfigure); err != nil {
				return fmt.Errorf("stop %s: %w", relocation.UnitReconfigure, err)
			}
			release, err := w.Take(ctx, relocation.FlowReconfigure, "relocation rollback")
			if err != nil {
				return err
			}
			defer release()
			return w.Verdict("relocation rollback", b.Run(ctx))
		},
	}
}

func (w NodeWiring) keep() *cobra.Command {
	return &cobra.Command{
		Use: "commit", Args: cobra.NoArgs,
		Short: "Give the factory state up: the node stays as it is on its site, and has no way back",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := w.station(cmd.Context(), true)
			if err != nil {
				return err
			}
			release, err := w.Take(cmd.Context(), relocation.FlowKeep, "relocation commit")
			if err != nil {
				return err
			}
			defer release()
			return w.Verdict("relocation commit", s.Keep(cmd.Context()))
		},
	}
}
