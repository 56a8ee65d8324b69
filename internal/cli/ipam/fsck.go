package ipam

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/audit"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
)

// report is the answer of fsck.
type report struct {
	Pools     int             `json:"pools"`
	Claims    int             `json:"claims"`
	Addresses int             `json:"addresses"`
	Locks     int             `json:"locks"`
	Findings  []audit.Finding `json:"findings"`
}

// Text implements output.Answer.
func (r report) Text(w io.Writer) error {
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s: %s\n    %s\n", f.Problem, f.Text, f.Remedy)
	}
	_, err := fmt.Fprintf(w, "%s, %s, %s, %s: %s\n", countNoun(r.Pools, "pool", "s"), countNoun(r.Claims, "claim", "s"),
		countNoun(r.Addresses, "address", "es"), countNoun(r.Locks, "lock", "s"), countNoun(len(r.Findings), "finding", "s"))
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// countNoun is a number with its noun.
func countNoun(n int, noun, plural string) string {
	if n != 1 {
		noun += plural
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (w Wiring) newFsckCommand() *cobra.Command {
	var in input
	var leases, network string
	cmd := &cobra.Command{
		Use:   "fsck [-f FILE]",
		Short: "Find and explain leaks, duplicates and other inconsistencies",
		Long: "Compare pools, claims, addresses and locks, of files or, without -f, of the cluster. It changes\n" +
			"nothing, and fails when there is a finding.",
		Example: "  oc get ippool,ipclaim,ipaddresses.ipam.metal3.io,ipaddressclaim,ipaddresses.ipam.cluster.x-k8s.io,addresslock \\\n" +
			"    -A -o yaml | kubectl lca ipam fsck -f -",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := w.readRecords(cmd.Context(), in)
			if err != nil {
				return err
			}
			facts, err := v.Facts(w.Now())
			if err != nil {
				return err
			}
			if leases != "" {
				if facts.Leases, err = w.readLeases(leases, network); err != nil {
					return err
				}
			}
			return w.reportFindings(in, facts)
		},
	}
	in.addFlags(cmd, output.Text)
	cmd.Flags().StringVar(&leases, "leases", "", "lease file of dnsmasq; finds static addresses that DHCP has leased")
	cmd.Flags().StringVar(&network, "network", "", "network that the leases belong to (default: all)")
	return cmd
}

func (w Wiring) readRecords(ctx context.Context, in input) (*manifest.Inventory, error) {
	if len(in.files) == 0 && w.Cluster != nil {
		return w.Cluster(ctx)
	}
	v, err := w.loadInventory(in)
	if err != nil {
		return nil, err
	}
	return v, v.CheckComplete()
}

func (w Wiring) readLeases(file, network string) ([]audit.Leased, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read leases: %w", err)
	}
	defer f.Close()
	all, err := dnsmasq.ReadLeases(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return manifest.Leases(network, all, w.Now()), nil
}

func (w Wiring) reportFindings(in input, f audit.Facts) error {
	r := report{Pools: len(f.Pools), Claims: len(f.Claims), Addresses: len(f.Addresses), Locks: len(f.Locks), Findings: audit.Check(f)}
	if r.Findings == nil {
		r.Findings = []audit.Finding{}
	}
	if err := w.printAnswer(in, r); err != nil {
		return err
	}
	if n := len(r.Findings); n > 0 {
		return fmt.Errorf("fsck: %s", countNoun(n, "finding", "s"))
	}
	return nil
}
