// Command lca-cli is the node side of Lifecycle Agent: systemd units run its
// verbs, administrators look with "status" and "plan". This package only wires
// adapters to domains; nothing may import it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/initmonitor"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/stateroot"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/lock"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operations"
	engine "github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/version"
)

func main() {
	engine.LimitMemory() // nothing else that it does makes much garbage, the watchdog, which stays, least of all
	os.Exit(runCommand())
}

// runCommand carries out one command and returns the exit code.
func runCommand() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: operation.RedactAttr}))
	err := commandline.Execute(ctx, newRootCommand(log), os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "lca-cli: %s\n", operation.Redact([]byte(err.Error())))
	}
	return exitCode(err)
}

// exitCode is by what systemd decides whether to retry.
func exitCode(err error) int {
	var final *verb.FinalError
	var usage *commandline.UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &final):
		return host.FinalExit
	case errors.As(err, &usage):
		return commandline.UsageExit
	default:
		return 1
	}
}

func newRootCommand(log *slog.Logger) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "lca-cli",
		Short:         "Change, copy and inspect the systems of this node",
		Version:       version.Get().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	open, node := opener{log}, buildNode(log, &evidence{})
	shared := verb.Wiring{
		Log: log, Out: os.Stdout, Screen: terminalSize(os.Stdout), Clock: flow.SystemClock{},
		Lock: lock.New("/", operations.Reservations(node)...),
	}
	w := ipconfig.Wiring{Wiring: shared, Node: open.openIPConfig, Rehearsal: open.openRehearsal, NewID: newOperationID}
	cmd.AddCommand(ipconfig.Command(w), initmonitor.Command(w), recert.Command(recertWiring(log, shared)), newMovedCommand("ipam"),
		relocation.Group(append(siteFileVerbs(), siteNodeVerbs(shared, open)...)...),
		newNetworkCommand(shared, open, node),
		newSeedCommand(shared, open), dnsmasq.Command(os.Stdout), newGatherCommand(open), newMovedCommand("fleet"),
		stateroot.Command(stateroot.Wiring{Wiring: shared, Node: open.openSnapshot, Kept: keptStateroots, NewID: newOperationID}),
		shared.StatusCommand("Show the latest operation on this node, of any kind",
			shared.Newest(verb.Node{Files: node.Files, Deployments: node.Deployments}, w.Source)))
	return cmd
}

// terminalSize is the size of the terminal that a file is, or nil.
func terminalSize(f *os.File) func() (width, height int) {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() (int, int) {
		width, height, err := term.GetSize(fd)
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24 // a serial line does not say
		}
		return width, height
	}
}
