package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// planAnswer is the answer of "ip-config plan".
type planAnswer struct{ ipconfig.Preview }

func plan(w Wiring) *cobra.Command {
	var format string
	r := ipconfig.Request{OperationID: "preview"}
	cmd := &cobra.Command{
		Use: "plan", Args: cobra.NoArgs,
		Short: "Show what a change would do, without touching anything",
		Long: "Shows the network document, what recert is told, the stateroot, the disk it needs and the steps.\n" +
			"Without flags it shows the operation that is prepared on this node.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			p, err := preview(cmd.Context(), w, r, cmd.Flags().Changed("vlan-id"))
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, planAnswer{p})
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	flags.StringVar(&r.IPv4Address, "ipv4-address", "", "new IPv4 address, without prefix length")
	flags.StringVar(&r.IPv4MachineNetwork, "ipv4-machine-network", "", "its machine network, CIDR")
	flags.StringVar(&r.IPv4Gateway, "ipv4-gateway", "", "its default gateway")
	flags.StringVar(&r.IPv6Address, "ipv6-address", "", "new IPv6 address, without prefix length")
	flags.StringVar(&r.IPv6MachineNetwork, "ipv6-machine-network", "", "its machine network, CIDR")
	flags.StringVar(&r.IPv6Gateway, "ipv6-gateway", "", "its default gateway")
	flags.StringSliceVar(&r.DNSServers, "dns-server", nil, "DNS server; repeat it, the order counts")
	flags.IntVar(&r.VLANID, "vlan-id", 0, "VLAN of the uplink, 1 to 4094; 0 removes it; left out keeps the present one")
	return cmd
}

// preview works out the request of the flags or, when they name no address, the prepared
// one. saysVLAN: the flags say something about the VLAN; otherwise the node's is kept.
func preview(ctx context.Context, w Wiring, r ipconfig.Request, saysVLAN bool) (ipconfig.Preview, error) {
	node, _, err := w.Node(ctx, false)
	if err != nil {
		return ipconfig.Preview{}, err
	}
	switch {
	case r.IPv4Address == "" && r.IPv6Address == "":
		r, err = ipconfig.ReadRequest(node.Files)
		if errors.Is(err, ipconfig.ErrNoRequest) {
			err = errors.New("nothing is prepared on this node: say what to change, at least --ipv4-address or --ipv6-address")
		}
	case !saysVLAN:
		r.VLANID, err = presentVLAN(ctx, node)
	}
	if err != nil {
		return ipconfig.Preview{}, err
	}
	return ipconfig.MakePreview(ctx, node, r)
}

func presentVLAN(ctx context.Context, node ipconfig.Node) (int, error) {
	now, err := node.Network.Observe(ctx)
	if err != nil {
		return 0, fmt.Errorf("observe the node's network: %w", err)
	}
	uplink, err := ipconfig.FindUplink(ctx, node.Switch, now)
	return uplink.VLAN, err
}

// Text implements output.Answer.
func (a planAnswer) Text(w io.Writer) error {
	fmt.Fprintf(w, "Stateroot      %s (from %s)\n", a.NewStateroot, a.OldStateroot)
	fmt.Fprintf(w, "Disk           needs %d MiB, %d MiB free\n", a.DiskNeedBytes>>20, a.DiskFreeBytes>>20)
	fmt.Fprintf(w, "Addresses      %s\n", strings.Join(a.AddressChanges, ", "))
	fmt.Fprintf(w, "\nNetwork document (nmstate):\n%s", indent(a.NMState))
	a.textRecert(w)
	fmt.Fprintf(w, "\nSteps (the cluster is down from %q until %q):\n", a.OutageFrom, a.OutageTo)
	for i, s := range a.Steps {
		fmt.Fprintf(w, "%4d  %-11s %-20s %s\n", i+1, s.Flow, s.Name, s.Title)
	}
	return nil
}

// textRecert shows what recert would do, long lists cut to what a person reads.
func (a planAnswer) textRecert(w io.Writer) {
	if a.Recert == nil {
		fmt.Fprintf(w, "\nCertificates and addresses: not known (%s)\n", a.RecertUnknown)
		return
	}
	for _, list := range []struct {
		title string
		items []string
	}{
		{"Certificates that are signed again", a.Recert.Certificates}, {"Cluster objects that are rewritten", a.Recert.Objects},
		{"Files that are rewritten", a.Recert.Files}, {"Objects that the cluster makes anew", a.Recert.Deleted},
		{"BLOCKED", a.Recert.Blocked}, {"Other mentions of the old address, left as they are", a.Recert.Leftovers},
	} {
		if len(list.items) > 0 {
			fmt.Fprintf(w, "\n%s (%d):\n%s", list.title, len(list.items), indent(head(list.items)))
		}
	}
}

// shown is how much of a list the text has; yaml and json have all of it.
const shown = 12

func head(items []string) string {
	if len(items) <= shown {
		return strings.Join(items, "\n") + "\n"
	}
	return strings.Join(items[:shown], "\n") + fmt.Sprintf("\n... and %d more (-o yaml)\n", len(items)-shown)
}

func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("    " + line)
	}
	return b.String()
}
