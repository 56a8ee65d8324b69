// Package dnsmasq holds the verbs of "lca-cli dnsmasq": the configuration by which a node answers for its cluster's
// names under any name, domain and address, as a MachineConfig or a section of a policy template. cmd/lca-cli builds
// them; they need neither node nor cluster.
package dnsmasq

import (
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Command is "dnsmasq" with its verbs; answers go to out.
func Command(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "dnsmasq", Short: "Print the dnsmasq configuration that a seed and its targets need"}
	cmd.AddCommand(newMachineConfigCommand(out), newPolicyCommand(out))
	return cmd
}

// flags of both verbs.
type flags struct {
	name, domain string
	ips          []string
}

func (f *flags) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "name", "", "cluster name (required)")
	cmd.Flags().StringVar(&f.domain, "domain", "", "cluster baseDomain (required)")
	cmd.Flags().StringSliceVar(&f.ips, "ip", nil, "node address; twice for dual stack, the primary one first (required)")
	for _, name := range []string{"name", "domain", "ip"} {
		_ = cmd.MarkFlagRequired(name)
	}
}

// parseSite checks the flags. What they say ends up in a shell script, so nothing else may pass.
func (f *flags) parseSite() (Site, error) {
	s := Site{Name: f.name, Domain: f.domain}
	if wrong := validation.IsDNS1123Label(f.name); len(wrong) > 0 {
		return s, fmt.Errorf("--name %q cannot be the name of a cluster: %s", f.name, wrong[0])
	}
	if wrong := validation.IsDNS1123Subdomain(f.domain); len(wrong) > 0 {
		return s, fmt.Errorf("--domain %q cannot be a domain: %s", f.domain, wrong[0])
	}
	for _, text := range f.ips {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" || a.Is4In6() || !a.IsGlobalUnicast() {
			return s, fmt.Errorf("--ip %q is not the address of a node", text)
		}
		s.Addresses = append(s.Addresses, a)
	}
	two := len(s.Addresses) == 2
	if len(s.Addresses) == 0 || len(s.Addresses) > 2 || two && s.Addresses[0].Is4() == s.Addresses[1].Is4() {
		return s, errors.New("--ip: give one address, or one of each family")
	}
	return s, nil
}

func newMachineConfigCommand(out io.Writer) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "machineconfig", Args: cobra.NoArgs, Short: "Print the MachineConfig " + configName,
		Example: "  lca-cli dnsmasq machineconfig --name mysno --domain sno.cluster-domain.com --ip 10.20.30.5 | oc apply -f -",
		RunE: func(*cobra.Command, []string) error {
			s, err := f.parseSite()
			if err != nil {
				return err
			}
			_, err = io.WriteString(out, s.MachineConfig())
			return err
		},
	}
	f.addFlags(cmd)
	return cmd
}

func newPolicyCommand(out io.Writer) *cobra.Command {
	var f flags
	var wave int
	cmd := &cobra.Command{
		Use: "policy", Args: cobra.NoArgs, Short: "Print the same as a section of a site policy",
		Example: "  lca-cli dnsmasq policy --name mysno --domain sno.cluster-domain.com --ip 10.20.30.5 --wave 100",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.parseSite()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("wave") && (wave < 1 || wave > 100) {
				return fmt.Errorf("--wave %d is not between 1 and 100", wave)
			}
			_, err = io.WriteString(out, s.Policy(wave))
			return err
		},
	}
	f.addFlags(cmd)
	cmd.Flags().IntVar(&wave, "wave", 0, "add the annotation ztp-deploy-wave with this value, 1 to 100")
	return cmd
}
