package kubectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
)

// wanted are the flags that say what to change, the same as those of "lca-cli ip-config plan".
type wanted struct {
	v4   lcav1.IPv4Config
	v6   lcav1.IPv6Config
	dns  []string
	vlan int
}

func (want *wanted) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&want.v4.Address, "ipv4-address", "", "new IPv4 address, without prefix length")
	flags.StringVar(&want.v4.MachineNetwork, "ipv4-machine-network", "", "its machine network, CIDR")
	flags.StringVar(&want.v4.Gateway, "ipv4-gateway", "", "its default gateway")
	flags.StringVar(&want.v6.Address, "ipv6-address", "", "new IPv6 address, without prefix length")
	flags.StringVar(&want.v6.MachineNetwork, "ipv6-machine-network", "", "its machine network, CIDR")
	flags.StringVar(&want.v6.Gateway, "ipv6-gateway", "", "its default gateway")
	flags.StringSliceVar(&want.dns, "dns-server", nil, "DNS server; repeat it, the order counts")
	commandline.Range(flags, &want.vlan, "vlan-id", 0, 4094, "VLAN of the uplink, 1 to 4094; 0 removes it; omit it to keep the present one")
}

// buildSpecEdit returns what the flags make of a spec. Without flags the spec is taken as it is in the object.
func (want *wanted) buildSpecEdit(cmd *cobra.Command) (func(*lcav1.IPConfigSpec), error) {
	if want.v4.Address == "" && want.v4.MachineNetwork+want.v4.Gateway != "" {
		return nil, errors.New("--ipv4-machine-network and --ipv4-gateway need --ipv4-address")
	}
	if want.v6.Address == "" && want.v6.MachineNetwork+want.v6.Gateway != "" {
		return nil, errors.New("--ipv6-machine-network and --ipv6-gateway need --ipv6-address")
	}
	vlan := cmd.Flags().Changed("vlan-id")
	return func(s *lcav1.IPConfigSpec) {
		if want.v4.Address != "" {
			s.IPv4 = want.v4.DeepCopy()
		}
		if want.v6.Address != "" {
			s.IPv6 = want.v6.DeepCopy()
		}
		if len(want.dns) > 0 {
			s.DNSServers = slices.Clone(want.dns)
		}
		if vlan {
			id := int32(want.vlan)
			s.VLANID = &id
		}
	}, nil
}

func (w *Wiring) newChangeCommand() *cobra.Command {
	var f following
	var want wanted
	cmd := &cobra.Command{
		Use: "change", Args: cobra.NoArgs, Short: "Change the address of the node",
		Long: "Write what the flags say into the IPConfig and set its stage to Config. A flag that is omitted keeps the present value.\n" +
			"The node reboots once. Its previous system stays until \"kubectl lca commit\", and \"kubectl lca rollback\" returns to it.",
		Example: "  kubectl lca change --ipv4-address 198.51.100.20 --ipv4-machine-network 198.51.100.0/24 \\\n" +
			"    --ipv4-gateway 198.51.100.1 --watch",
		RunE: func(cmd *cobra.Command, _ []string) error {
			edit, err := want.buildSpecEdit(cmd)
			if err != nil {
				return err
			}
			return w.setStage(cmd.Context(), f, lcav1.StageConfig, edit)
		},
	}
	want.addFlags(cmd)
	f.addFlags(cmd)
	return cmd
}

func (w *Wiring) newPlanCommand() *cobra.Command {
	var want wanted
	var format string
	cmd := &cobra.Command{
		Use: "plan", Args: cobra.NoArgs,
		Short: "Have the API server judge a change, and show what differs, without changing anything",
		Long: "Send the change to the API server as a dry run, which applies every rule of the resource, and show what would differ\n" +
			"from the node's present network. \"lca-cli ip-config plan\" on the node shows more: certificates, disk space, steps.",
		Example: "  kubectl lca plan --ipv4-address 198.51.100.20 --ipv4-machine-network 198.51.100.0/24 --ipv4-gateway 198.51.100.1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			edit, err := want.buildSpecEdit(cmd)
			if err != nil {
				return err
			}
			c, err := w.connectCluster()
			if err != nil {
				return err
			}
			p, err := c.previewChange(cmd.Context(), edit)
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, p)
		},
	}
	want.addFlags(cmd)
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	return cmd
}

// preview is the answer of "plan".
type preview struct {
	Differences []difference `json:"differences"`
	// NotNow is why the change cannot be asked for now, though its fields are right.
	NotNow string `json:"notNow,omitempty"`
}

type difference struct {
	Field string `json:"field"`
	Now   string `json:"now"`
	Then  string `json:"then"`
}

func (c Cluster) previewChange(ctx context.Context, edit func(*lcav1.IPConfigSpec)) (preview, error) {
	ipc, err := c.getIPConfig(ctx)
	if err != nil {
		return preview{}, err
	}
	var p preview
	status := ipc.Status
	if ipc.Spec.Stage != lcav1.StageConfig &&
		!slices.Contains(status.ValidNextStages, lcav1.StageConfig) {
		p.NotNow = fmt.Sprintf("stage Config is not possible now: %s; the next stages are: %s", stateOf(status),
			joinStages(status.ValidNextStages))
	} else {
		ipc.Spec.Stage = lcav1.StageConfig
	}
	edit(&ipc.Spec)
	if err := c.Client.Update(ctx, ipc.DeepCopy(), client.DryRunAll); err != nil {
		return preview{}, fmt.Errorf("the API server refuses the change: %w", err)
	}
	p.Differences = diffNetwork(ipc.Spec, status)
	return p, nil
}

func diffNetwork(s lcav1.IPConfigSpec, now lcav1.IPConfigStatus) (all []difference) {
	add := func(field, before, after string) {
		if after != "" && before != after {
			all = append(all, difference{field, before, after})
		}
	}
	v4, v6 := valueOrEmpty(now.IPv4), valueOrEmpty(now.IPv6)
	if s.IPv4 != nil {
		add("IPv4 address", v4.Address, s.IPv4.Address)
		add("IPv4 machine network", v4.MachineNetwork, s.IPv4.MachineNetwork)
		add("IPv4 gateway", v4.Gateway, s.IPv4.Gateway)
	}
	if s.IPv6 != nil {
		add("IPv6 address", v6.Address, s.IPv6.Address)
		add("IPv6 machine network", v6.MachineNetwork, s.IPv6.MachineNetwork)
		add("IPv6 gateway", v6.Gateway, s.IPv6.Gateway)
	}
	add("DNS servers", strings.Join(now.DNSServers, ", "), strings.Join(s.DNSServers, ", "))
	if s.VLANID != nil {
		add("VLAN", fmt.Sprint(now.VLANID), fmt.Sprint(*s.VLANID))
	}
	return all
}

func valueOrEmpty(s *lcav1.IPStatus) lcav1.IPStatus {
	if s == nil {
		return lcav1.IPStatus{}
	}
	return *s
}

// Text implements output.Answer.
func (p preview) Text(w io.Writer) error {
	if len(p.Differences) == 0 {
		fmt.Fprintln(w, "Nothing differs: the node has this network.")
	}
	for _, d := range p.Differences {
		before := d.Now
		if before == "" {
			before = "none"
		}
		fmt.Fprintf(w, "%-22s %s -> %s\n", d.Field, before, d.Then)
	}
	if p.NotNow != "" {
		fmt.Fprintln(w, p.NotNow)
	}
	return nil
}
