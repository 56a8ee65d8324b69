package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// planAnswer is the answer of "ip-config plan".
type planAnswer struct{ change.Preview }

// wanted are the flags of "plan".
type wanted struct {
	v4   lcav1.IPv4Config
	v6   lcav1.IPv6Config
	spec lcav1.IPConfigSpec
	vlan int
	// vlanSet: the flag was given, be it 0.
	vlanSet bool
}

func newPlanCommand(w Wiring) *cobra.Command {
	var format string
	var want wanted
	cmd := &cobra.Command{
		Use: "plan", Args: cobra.NoArgs,
		Short: "Show what a change would do, without changing anything",
		Long: "Make the preflight checks of the agent, and show the network document, what recert would rewrite, the stateroot, the\n" +
			"disk space, the expected outage and the steps. A flag that is omitted keeps the node's present value. Without flags,\n" +
			"show the operation that is prepared on this node.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			want.vlanSet = cmd.Flags().Changed("vlan-id")
			p, err := makePreview(cmd.Context(), w, want)
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, planAnswer{p})
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	want.addFlags(cmd.Flags())
	return cmd
}

// addFlags adds a flag for each part of a change.
func (want *wanted) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&want.v4.Address, "ipv4-address", "", "new IPv4 address, without prefix length")
	flags.StringVar(&want.v4.MachineNetwork, "ipv4-machine-network", "", "its machine network, CIDR")
	flags.StringVar(&want.v4.Gateway, "ipv4-gateway", "", "its default gateway")
	flags.StringVar(&want.v6.Address, "ipv6-address", "", "new IPv6 address, without prefix length")
	flags.StringVar(&want.v6.MachineNetwork, "ipv6-machine-network", "", "its machine network, CIDR")
	flags.StringVar(&want.v6.Gateway, "ipv6-gateway", "", "its default gateway")
	flags.StringSliceVar(&want.spec.DNSServers, "dns-server", nil, "DNS server; repeat it, the order counts")
	commandline.Range(flags, &want.vlan, "vlan-id", 0, 4094, "VLAN of the uplink, 1 to 4094; 0 removes it; omit it to keep the present one")
}

// toSpec is the change that the flags ask for.
func (want *wanted) toSpec() lcav1.IPConfigSpec {
	spec := want.spec
	if want.vlanSet {
		vlan := int32(want.vlan)
		spec.VLANID = &vlan
	}
	if want.v4.Address != "" {
		spec.IPv4 = &want.v4
	}
	if want.v6.Address != "" {
		spec.IPv6 = &want.v6
	}
	return spec
}

// makePreview works out what the flags ask for or, when they name no address, the prepared request.
func makePreview(ctx context.Context, w Wiring, want wanted) (change.Preview, error) {
	node, _, err := w.Node(ctx, false)
	if err != nil {
		return change.Preview{}, err
	}
	proposal := change.Proposal{Spec: want.toSpec()}
	if proposal.Spec.IPv4 == nil && proposal.Spec.IPv6 == nil {
		prepared, err := ipconfig.ReadRequest(node.Files)
		if errors.Is(err, ipconfig.ErrNoRequest) {
			err = errors.New("nothing is prepared on this node: say what to change, at least --ipv4-address or --ipv6-address")
		}
		if err != nil {
			return change.Preview{}, err
		}
		proposal = change.Proposal{Spec: prepared.Spec(), Prepared: &prepared}
	}
	return change.MakePreview(ctx, node, proposal)
}

// Text implements output.Answer.
func (a planAnswer) Text(w io.Writer) error {
	fmt.Fprintf(w, "Stateroot      %s (from %s)\n", a.NewStateroot, a.OldStateroot)
	fmt.Fprintf(w, "Disk           needs %d MiB and %d inodes, %d MiB free\n", a.DiskNeedBytes>>20, a.DiskNeedInodes, a.DiskFreeBytes>>20)
	fmt.Fprintf(w, "Addresses      %s\n", strings.Join(a.AddressChanges, ", "))
	if a.NodeIPHint != "" {
		fmt.Fprintf(w, "Node IP hint   %s\n", a.NodeIPHint)
	}
	fmt.Fprintf(w, "Outage         %s\n", a.textOutage())
	a.textChecks(w)
	fmt.Fprintf(w, "\nNetwork document (nmstate):\n%s", indentLines(a.NMState))
	if len(a.Extras) > 0 {
		fmt.Fprintf(w, "\nOther addresses and routes of the uplink:\n%s", indentLines(strings.Join(a.Extras, "\n")+"\n"))
	}
	if len(a.FileMentions) > 0 {
		fmt.Fprintf(w, "\nFiles of this node that name what is left; the change does not edit them (%d):\n%s", len(a.FileMentions),
			indentLines(cutList(a.FileMentions)))
	}
	a.textRecert(w)
	if len(a.Probes) > 0 {
		fmt.Fprintf(w, "\nProbes that must get a good answer:\n%s", indentLines(strings.Join(a.Probes, "\n")+"\n"))
	}
	fmt.Fprintf(w, "\nSteps (the cluster is down from %q until %q):\n", a.OutageFrom, a.OutageTo)
	for i, s := range a.Steps {
		fmt.Fprintf(w, "%4d  %-11s %-20s %s\n", i+1, s.Flow, s.Name, s.Title)
	}
	return nil
}

// textOutage says how long the cluster is expected to be down.
func (a planAnswer) textOutage() string {
	if a.OutageSeconds == 0 {
		return "a reboot of this node and a little more; no change is on record here to tell how long that takes"
	}
	return fmt.Sprintf("about %d s, as in the last change on this node", a.OutageSeconds)
}

// textChecks shows the checks that found something, and how many did not.
func (a planAnswer) textChecks(w io.Writer) {
	passed := 0
	fmt.Fprintf(w, "\nChecks:\n")
	for _, c := range a.Checks {
		if c.Result == lcav1.PreflightPassed {
			passed++
			continue
		}
		fmt.Fprintf(w, "    %-8s %-9s %s: %s\n", c.Result, c.Severity, c.Name, c.Message)
		if c.Hint != "" {
			fmt.Fprintf(w, "%24s%s\n", "", c.Hint)
		}
	}
	fmt.Fprintf(w, "    %d of %d passed\n", passed, len(a.Checks))
	if a.Refusal != "" {
		fmt.Fprintf(w, "    The change would be refused.\n")
	}
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
		{"BLOCKED", a.Recert.Blocked}, {"WARNINGS", a.Recert.Warnings},
		{"Other mentions of the old address, left as they are", a.Recert.Leftovers},
		{"Not looked into", a.Recert.NotRead},
	} {
		if len(list.items) > 0 {
			fmt.Fprintf(w, "\n%s (%d):\n%s", list.title, len(list.items), indentLines(cutList(list.items)))
		}
	}
}

// shown is how much of a list the text has; yaml and json have all of it.
const shown = 12

func cutList(items []string) string {
	if len(items) <= shown {
		return strings.Join(items, "\n") + "\n"
	}
	return strings.Join(items[:shown], "\n") + fmt.Sprintf("\n... and %d more (-o yaml)\n", len(items)-shown)
}

func indentLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("    " + line)
	}
	return b.String()
}
