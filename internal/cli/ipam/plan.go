package ipam

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
)

// plans is the answer of plan.
type plans struct {
	Pools []manifest.Plan `json:"pools"`
}

// Text implements output.Answer.
func (p plans) Text(w io.Writer) error {
	for i, one := range p.Pools {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := planText(w, one); err != nil {
			return err
		}
	}
	return nil
}

func planText(out io.Writer, p manifest.Plan) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "pool\t%s\n", p.Pool)
	fmt.Fprintf(w, "network\t%s\n", p.Network)
	fmt.Fprintf(w, "strategy\t%s\n", p.Strategy)
	fmt.Fprintf(w, "ranges\t%s\n", strings.Join(p.Ranges, ", "))
	if p.DHCP != "" {
		fmt.Fprintf(w, "DHCP\t%s\n", p.DHCP)
	}
	fmt.Fprintf(w, "addresses\t%s, and %s excluded\n", p.Total, p.Excluded)
	fmt.Fprintf(w, "held\t%d\n", p.Used)
	for _, n := range []struct {
		name string
		n    int
	}{{"reserved", p.Reserved}, {"resting", p.Quarantined}, {"outside", p.Outside}} {
		if n.n > 0 {
			fmt.Fprintf(w, "%s\t%d\n", n.name, n.n)
		}
	}
	fmt.Fprintf(w, "free\t%s\n", p.Free)
	for _, g := range p.Waiting {
		fmt.Fprintf(w, "%s\twould get %s\n", g.Claim, orRefused(g))
	}
	for _, g := range p.Hosts {
		fmt.Fprintf(w, "host %s\t%s\n", g.Host, orRefused(g))
	}
	if p.Smallest != "" {
		fmt.Fprintf(w, "hosts\t%d; the smallest subnet for them is a %s\n", len(p.Hosts), p.Smallest)
	}
	if len(p.Next) > 0 {
		fmt.Fprintf(w, "then\t%s\n", strings.Join(p.Next, ", "))
	}
	if p.Refused != "" {
		fmt.Fprintf(w, "refused\t%s\n", p.Refused)
	}
	return w.Flush()
}

func orRefused(g manifest.Given) string {
	if g.Refused != "" {
		return "nothing: " + g.Refused
	}
	return g.Address
}

func (w Wiring) newPlanCommand() *cobra.Command {
	var in input
	var pool, iface string
	var more int
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show a pool, the addresses that pending claims would get, and the next free ones",
		Long: "Show what a pool has, what the claims of the files without an address would get, and what comes\n" +
			"after them. With --for-hosts each BareMetalHost of the files gets an address, as its machine would;\n" +
			"so a pool is sized before there are machines.",
		Example: "  kubectl lca ipam plan -f pools.yaml --pool storage --count 12\n" +
			"  oc get baremetalhost -A -o yaml | kubectl lca ipam plan -f pools.yaml -f - --pool storage --for-hosts ens4",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v, err := w.loadInventory(in)
			if err != nil {
				return err
			}
			chosen := v.Pools
			if pool != "" {
				o, err := v.Find(pool)
				if err != nil {
					return err
				}
				chosen = []*metal3.IPPool{o}
			}
			return w.planAll(in, v, chosen, iface, more)
		},
	}
	in.addFlags(cmd, output.Text)
	cmd.Flags().StringVar(&pool, "pool", "", "pool, as name or namespace/name (default: all pools of the files)")
	cmd.Flags().StringVar(&iface, "for-hosts", "", "interface of each BareMetalHost of the files to plan an address for")
	commandline.Count(cmd.Flags(), &more, "count", "number of further addresses to show")
	return cmd
}

func (w Wiring) planOne(v *manifest.Inventory, o *metal3.IPPool, iface string, more int) (manifest.Plan, error) {
	if iface == "" {
		return v.Plan(o, more, w.poolOptions())
	}
	if len(v.Hosts) == 0 {
		return manifest.Plan{}, fmt.Errorf("--for-hosts %s: there is no BareMetalHost in the files", iface)
	}
	return v.PlanForHosts(o, iface, more, w.poolOptions())
}

// planAll fails when something does not fit, so that a script can ask.
func (w Wiring) planAll(in input, v *manifest.Inventory, pools []*metal3.IPPool, iface string, more int) error {
	if len(pools) == 0 {
		return fmt.Errorf("there is no pool in the files")
	}
	var out plans
	refused := 0
	for _, o := range pools {
		p, err := w.planOne(v, o, iface, more)
		if err != nil {
			return err
		}
		if p.Refused != "" {
			refused++
		}
		for _, g := range append(p.Waiting, p.Hosts...) {
			if g.Refused != "" {
				refused++
			}
		}
		out.Pools = append(out.Pools, p)
	}
	if err := w.printAnswer(in, out); err != nil {
		return err
	}
	if refused > 0 {
		return fmt.Errorf("not everything fits: %d refused", refused)
	}
	return nil
}
