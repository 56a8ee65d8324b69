// Command lifecycle-agent is the part of the product that talks to the Kubernetes API, in two roles: "operator" runs what needs no
// host, "node" what observes its own node and hands changes to lca-cli there. This package only wires; nothing may import it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := commandline.Execute(ctx, newRootCommand(runRole), os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "lifecycle-agent: %s\n", operation.Redact([]byte(err.Error())))
		os.Exit(exitCode(err))
	}
}

func exitCode(err error) int {
	var usage *commandline.UsageError
	if errors.As(err, &usage) {
		return commandline.UsageExit
	}
	return 1
}

// serveRole runs a role until the context ends.
type serveRole func(ctx context.Context, role controller.Role, f flags) error

func newRootCommand(serve serveRole) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lifecycle-agent",
		Short: "Reconcile node addresses, address pools and host networks from Kubernetes resources",
		Long: `Reconcile node addresses, address pools and host networks from Kubernetes resources.

The agent has two roles. Both run from one image, each with a service account of its own:

  operator   an unprivileged Deployment with leader election, for the cluster
  node       a privileged DaemonSet, whose pods observe and change the node they run on

A cluster that only manages addresses, such as a hub, installs the operator role alone.`,
		Version:       version.Get().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New(`no role given: run "lifecycle-agent operator" or "lifecycle-agent node"`)
		},
	}
	cmd.AddCommand(newOperatorCommand(serve), newNodeCommand(serve))
	return cmd
}

// newLog logs to standard error, for the Kubernetes libraries too.
func newLog(out io.Writer, debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	handler := slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: operation.RedactAttr})
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	log := slog.New(handler)
	klog.SetSlogLogger(log)
	return log
}

// runRole runs the role's controllers until ctx ends.
func runRole(ctx context.Context, role controller.Role, f flags) error {
	enabled, err := controller.Enabled(role, f.controllers)
	if err != nil {
		return err // it names the controller and those that there are
	}
	log := newLog(os.Stderr, f.debug)
	caches.FillByList()
	build := version.Get()
	if err := registerBuildInfo(metrics.Registry, build); err != nil {
		return err
	}
	mgr, err := newManager(f)
	if err != nil {
		return err
	}
	options := controller.Options{Log: log, Webhooks: f.webhookCerts != ""}
	if role == controller.Node {
		options.NodeName = f.nodeName
		options.Host, options.Network = newHost(f.hostRoot, log)
		options.RecertImage, options.InstallCLI = recertImage(os.Getenv), shippedCLI(f.hostRoot)
	}
	if err := controller.Setup(mgr, enabled, options); err != nil {
		return fmt.Errorf("set up the controllers: %w", err)
	}
	log.Info("lifecycle-agent starts", "version", build.String(), "role", role, "node", f.nodeName, "hostRoot", f.hostRoot)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controllers: %w", err)
	}
	return nil
}
