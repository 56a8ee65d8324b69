// Package initmonitor is the watchdog verb of lca-cli. cmd/lca-cli builds it; it
// calls the ipconfig domain and must not import an adapter.
package initmonitor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// Command is "init-monitor".
func Command(w cli.Wiring) *cobra.Command {
	var monitor bool
	cmd := &cobra.Command{
		Use: "init-monitor", Args: cobra.NoArgs,
		Short: "Roll back a change that is not proved in time (run by " + ipconfig.UnitInitMonitor + ")",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !monitor {
				return errors.New("init-monitor needs --monitor")
			}
			return watchDeadline(cmd.Context(), w)
		},
	}
	cmd.Flags().BoolVar(&monitor, "monitor", false, "wait for the deadline and roll back when it passes")
	return cmd
}

func watchDeadline(ctx context.Context, w cli.Wiring) error {
	node, with, err := w.Node(ctx, true)
	if err != nil {
		return err
	}
	if err := checkMode(node.Files); err != nil {
		return &verb.FinalError{Cause: err}
	}
	op, err := cli.Open(ctx, node, with)
	if err != nil {
		return err
	}
	if !op.InNewStateroot() {
		w.Log.Info("nothing to watch: the old stateroot runs", "op", op.ID)
		return nil
	}
	m := change.Monitor{Files: node.Files, Clock: node.Clock, Log: node.Log, Request: op.Request, Auto: op.Auto, Alive: notifyWatchdog}
	cause, err := m.Watch(ctx)
	if err != nil {
		return nil //nolint:nilerr // stopped on request: the change was proved, or the node goes down
	}
	if cause == "" {
		return nil
	}
	return rollBack(ctx, w, op, cause)
}

// notifyWatchdog reports to systemd that the watchdog itself is not stuck. It does nothing where no service manager listens.
func notifyWatchdog() { _, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog) }

// rollBackWithin is what systemd grants a rollback, which does not report in between.
const rollBackWithin = 20 * time.Minute

func rollBack(ctx context.Context, w cli.Wiring, op *change.Operation, cause string) error {
	w.Log.Error("the deadline has passed; rolling back", "op", op.ID, "cause", cause)
	_, _ = daemon.SdNotify(false, fmt.Sprintf("WATCHDOG_USEC=%d", rollBackWithin.Microseconds()))
	if err := cli.StopPostPivot(ctx, w, ""); err != nil {
		return err
	}
	release, err := w.TakeOrProceed(ctx, change.HolderName(op.Ports.Files), "init-monitor")
	if err != nil {
		return err
	}
	defer release()
	if err := op.RollBackInTime(ctx, cause); err != nil && !errors.Is(err, flow.ErrLeaving) {
		return err
	}
	return nil
}

// otherMode is what the file says when the watchdog is not for an IP change.
const otherMode = "ibu"

// checkMode leaves other flows' nodes alone. Anything but their word is no reason not to watch.
func checkMode(files host.Files) error {
	data, err := files.Read(ipconfig.MonitorModeFile)
	if mode := strings.TrimSpace(string(data)); err == nil && mode == otherMode {
		return fmt.Errorf("mode %q in %s is not one this program watches", mode, ipconfig.MonitorModeFile)
	}
	return nil
}
