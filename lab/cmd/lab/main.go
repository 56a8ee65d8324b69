// Command lab makes, shows, uses and removes whole test nodes: see package lab. It wires flags to that package and nothing more;
// it imports nothing of the product.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
)

// exitError carries the exit code of a program that ran in the node to our own.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

func main() { os.Exit(execute()) }

// execute carries out one command and returns the exit code.
func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	var exit exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case err != nil:
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	return 0
}

// options are the flags that all commands share.
type options struct {
	name string
	root string
	bin  string
	// agent is what a new node runs; only commands that make one have the flag.
	agent string
}

func rootCommand() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "lab",
		Short: "A real cluster node on this machine: make it, use it, break it, remove it",
		Long: "lab boots an image-based Debian node with NetworkManager, Open vSwitch and ostree, shaped like a single-node\n" +
			"OpenShift, in a container or an emulated PC, in network namespaces of its own. It needs root.",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&o.name, "name", "node", "name of the lab")
	root.PersistentFlags().StringVar(&o.root, "root", "build/lab", "directory of all labs and of the image cache")
	root.PersistentFlags().StringVar(&o.bin, "bin", "build/bin", "directory of the project's programs, which the node gets")
	root.AddCommand(imageCommand(o), upCommand(o), downCommand(o), statusCommand(o), execCommand(o), shellCommand(o), applyCommand(o),
		powercutCommand(o), startCommand(o), stopCommand(o), logsCommand(o), networkCommand(o), superviseCommand(o), demoCommand(o), benchCommand(o), soakCommand(o))
	return root
}

func (o *options) tools() (lab.Tools, error) {
	self, err := os.Executable()
	if err != nil {
		return lab.Tools{}, err
	}
	return lab.Tools{
		Root: o.root, Binaries: o.bin, Agent: cluster.Agent(o.agent),
		Supervise: []string{self, "supervise", "--root", o.root, "--name"},
	}, nil
}

func (o *options) open() (*lab.Lab, error) {
	tools, err := o.tools()
	if err != nil {
		return nil, err
	}
	return lab.Open(tools, o.name)
}
