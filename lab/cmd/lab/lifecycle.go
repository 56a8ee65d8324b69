package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

func upCommand(o *options) *cobra.Command {
	kind := string(machine.Nspawn)
	bare, dual, bond := false, false, false
	cmd := &cobra.Command{
		Use: "up", Short: "Make the node, or power it on, and wait until it is ready", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := o.tools()
			if err != nil {
				return err
			}
			if dual {
				site := lab.DualStackSite()
				tools.Site = &site
			}
			tools.Bond = bond
			started := time.Now()
			l, err := lab.Up(cmd.Context(), tools, o.name, machine.Kind(kind), provisioner(bare), narrator(started))
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "%s  ready: lab %s (%s), console %s\n", elapsed(started), l.Name, l.Kind, l.Machine.ConsoleLog())
			return nil
		},
	}
	cmd.Flags().StringVar(&kind, "machine", kind, "nspawn (seconds) or qemu (everything real, minutes)")
	agentFlag(cmd, o)
	cmd.Flags().BoolVar(&dual, "dual-stack", false, "a new node gets an IPv6 address as well")
	cmd.Flags().BoolVar(&bond, "bond", false, "the uplink of a new node is a bond of two cards (qemu)")
	cmd.Flags().BoolVar(&bare, "bare", false, "a node without a cluster")
	return cmd
}

func imageCommand(o *options) *cobra.Command {
	kind := string(machine.Nspawn)
	cmd := &cobra.Command{
		Use: "image", Short: "Make the disk that new nodes are copied from, unless it is there (minutes, once)", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := o.tools()
			if err != nil {
				return err
			}
			started := time.Now()
			return lab.Image(cmd.Context(), tools, machine.Kind(kind), func(text string) {
				fmt.Fprintf(os.Stderr, "%s         %s\n", elapsed(started), text)
			})
		},
	}
	cmd.Flags().StringVar(&kind, "machine", kind, "nspawn or qemu")
	return cmd
}

func agentFlag(cmd *cobra.Command, o *options) {
	cmd.Flags().StringVar(&o.agent, "agent", "",
		"what a new node runs its static pods with: kubelet (the real one, with containerd; usual on nspawn) or nodelet (a stand-in; usual on qemu)")
}

// narrator tells each step on standard error; number 0 is part of the step before.
func narrator(started time.Time) lab.Step {
	return func(n, of int, text string) {
		if n == 0 {
			fmt.Fprintf(os.Stderr, "%s         %s\n", elapsed(started), text)
			return
		}
		fmt.Fprintf(os.Stderr, "%s  [%d/%d] %s\n", elapsed(started), n, of, text)
	}
}

func elapsed(started time.Time) string { return fmt.Sprintf("%6.1fs", time.Since(started).Seconds()) }

func downCommand(o *options) *cobra.Command {
	keep, all := false, false
	cmd := &cobra.Command{
		Use: "down", Short: "Cut the node's power and remove it, its disk and its network", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := o.tools()
			if err != nil {
				return err
			}
			names := []string{o.name}
			if all {
				if names, err = lab.Names(tools); err != nil {
					return err
				}
			}
			var errs []error
			for _, name := range names {
				l, err := lab.Open(tools, name)
				if err == nil {
					err = l.Down(cmd.Context(), keep)
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the disk, so that up continues with it")
	cmd.Flags().BoolVar(&all, "all", false, "all labs below --root")
	return cmd
}

// onMachine makes a command without arguments that does one thing to an existing lab.
func onMachine(o *options, use, short string, do func(context.Context, *lab.Lab) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := o.open()
			if err != nil {
				return err
			}
			return do(cmd.Context(), l)
		},
	}
}

func startCommand(o *options) *cobra.Command {
	return onMachine(o, "start", "Power the node on again and wait until it is ready", func(ctx context.Context, l *lab.Lab) error {
		if err := l.Net.Up(ctx); err != nil {
			return err
		}
		if err := l.Machine.Start(ctx); err != nil {
			return err
		}
		if err := l.Ready(ctx); err != nil {
			return err
		}
		return l.Serving(ctx)
	})
}

func stopCommand(o *options) *cobra.Command {
	return onMachine(o, "stop", "Shut the node down in good order", func(ctx context.Context, l *lab.Lab) error {
		return l.Machine.Stop(ctx)
	})
}

func powercutCommand(o *options) *cobra.Command {
	off := false
	cmd := onMachine(o, "powercut", "Cut the node's power without warning, then give it back", func(ctx context.Context, l *lab.Lab) error {
		if err := l.Machine.PowerCut(ctx); err != nil || off {
			return err
		}
		return l.Machine.Start(ctx)
	})
	cmd.Flags().BoolVar(&off, "stay-off", false, "leave the node without power")
	return cmd
}

func superviseCommand(o *options) *cobra.Command {
	cmd := onMachine(o, "supervise", "", func(ctx context.Context, l *lab.Lab) error {
		container, ok := l.Machine.(machine.Container)
		if !ok {
			return fmt.Errorf("a machine of kind %s needs no supervisor", l.Kind)
		}
		return container.Supervise(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	})
	cmd.Hidden = true
	return cmd
}

// provisioner of a node: the lab's cluster, or none.
func provisioner(bare bool) lab.Provision {
	if bare {
		return nil
	}
	return cluster.Provision
}
