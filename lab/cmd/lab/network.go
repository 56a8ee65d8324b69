package main

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// networkCommand breaks and mends what is around the node, and looks at the node from outside.
func networkCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{Use: "network", Short: "Inject network faults, repair them, or run a command from the LAN"}
	cmd.AddCommand(
		faultCommand(o, "drop", "Take a gateway or DNS server off the LAN", network.Network.Drop),
		faultCommand(o, "restore", "Give it back", network.Network.Restore),
		cableCommand(o, "unplug", "Pull a cable of the node", false),
		cableCommand(o, "plug", "Plug it in again", true),
		pingCommand(o),
	)
	return cmd
}

func faultCommand(o *options, use, short string, do func(network.Network, context.Context, netip.Prefix) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " ADDRESS", Short: short, Args: cobra.ExactArgs(1),
		Long: short + ". The addresses are those of the two sites: 192.0.2.1 and .53, 198.51.100.1 and .53,\n" +
			"2001:db8:1::1 and ::53, 2001:db8:2::1 and ::53.",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := o.open()
			if err != nil {
				return err
			}
			address, err := netip.ParseAddr(args[0])
			if err != nil {
				return err
			}
			prefix, ok := network.Find(address)
			if !ok {
				return fmt.Errorf("%s is neither a gateway nor a DNS server of the lab", address)
			}
			return do(l.Net, cmd.Context(), prefix)
		},
	}
}

func cableCommand(o *options, use, short string, plugged bool) *cobra.Command {
	card := 0
	cmd := onMachine(o, use, short, func(ctx context.Context, l *lab.Lab) error { return l.Cable(ctx, card, plugged) })
	cmd.Flags().IntVar(&card, "card", card, "0 is the first card; extra ones, which an emulated node may have, are numbered from 1")
	return cmd
}

func pingCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "ping ADDRESS", Short: "Ping an address from the LAN, once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := o.open()
			if err != nil {
				return err
			}
			address, err := netip.ParseAddr(args[0])
			if err != nil {
				return err
			}
			return l.Net.Ping(cmd.Context(), address)
		},
	}
}
