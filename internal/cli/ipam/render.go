package ipam

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/ignition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/networkdata"
)

// rendered is a file; as text it is the file itself.
type rendered struct {
	Host    string `json:"host,omitempty"`
	Form    string `json:"form"`
	Content string `json:"content"`
}

// Text implements output.Answer.
func (r rendered) Text(w io.Writer) error {
	_, err := io.WriteString(w, r.Content)
	return err
}

func (w Wiring) newRenderCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "render", Short: "Write configuration files from pools and allocated addresses"}
	cmd.AddCommand(w.newIgnitionCommand(), w.newDnsmasqCommand())
	return cmd
}

func (w Wiring) newIgnitionCommand() *cobra.Command {
	var in input
	var host, base, form string
	var interfaces []string
	cmd := &cobra.Command{
		Use:   "ignition -f FILE --host HOST --interface NAME=POOL",
		Short: "Write the Ignition config of a host, with its static addresses",
		Long: "Merge static addresses into a base config. An interface is NAME=POOL, or a list such as\n" +
			"name=eth1,mac=52:54:00:00:00:01,pool=storage,pool=storage-v6,default. The other forms write the\n" +
			"same networks as metal3 networkData, or as a network policy for the node.",
		Example: "  kubectl lca ipam render ignition -f pools.yaml -f masters.yaml --host master-0 --interface eth1=storage " +
			"--base master.ign",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v, err := w.loadInventory(in)
			if err != nil {
				return err
			}
			attached, err := parseAttachments(interfaces)
			if err != nil {
				return err
			}
			h, err := v.Host(host, attached, w.poolOptions())
			if err != nil {
				return err
			}
			content, err := w.renderHost(h, base, form)
			if err != nil {
				return err
			}
			return w.printAnswer(in, rendered{Host: host, Form: form, Content: string(content)})
		},
	}
	in.addFlags(cmd, output.Text)
	cmd.Flags().StringVar(&host, "host", "", "name of the host")
	cmd.Flags().StringArrayVar(&interfaces, "interface", nil, "interface and its pools; may be repeated")
	cmd.Flags().StringVar(&base, "base", "", "file with the base Ignition config of the host's role")
	cmd.Flags().StringVar(&form, "form", string(ignition.Keyfile), "keyfile, nmstate (both Ignition), networkdata or policy")
	return cmd
}

func (w Wiring) renderHost(h hostnet.Host, base, form string) ([]byte, error) {
	switch form {
	case "networkdata":
		return networkdata.Render(h)
	case "policy":
		return h.Policy()
	}
	var role []byte
	if base != "" {
		var err error
		if role, err = os.ReadFile(base); err != nil {
			return nil, fmt.Errorf("read base config: %w", err)
		}
	}
	out, err := ignition.Render(role, h, ignition.Form(form))
	return append(out, '\n'), err
}

// parseAttachments reads the --interface flags.
func parseAttachments(flags []string) (out []manifest.Attachment, err error) {
	if len(flags) == 0 {
		return nil, fmt.Errorf("say which --interface has which pool")
	}
	for _, f := range flags {
		a, err := parseAttachment(f)
		if err != nil {
			return nil, fmt.Errorf("--interface %s: %w", f, err)
		}
		out = append(out, a)
	}
	return out, nil
}

func parseAttachment(flag string) (a manifest.Attachment, err error) {
	for _, part := range strings.Split(flag, ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "name":
			a.Name = value
		case "mac":
			a.MAC = value
		case "pool":
			a.Pools = append(a.Pools, value)
		case "default":
			a.Default = true
		default:
			if value == "" || strings.Contains(flag, ",") {
				return a, fmt.Errorf("%q is none of name=, mac=, pool=, default", part)
			}
			a.Name, a.Pools = key, []string{value}
		}
	}
	if len(a.Pools) == 0 {
		return a, fmt.Errorf("it names no pool")
	}
	return a, nil
}

func (w Wiring) newDnsmasqCommand() *cobra.Command {
	var in input
	var pool, iface, leaseFile, server string
	var boot dnsmasq.Boot
	cmd := &cobra.Command{
		Use:   "dnsmasq -f FILE --pool POOL --interface NAME",
		Short: "Write the dnsmasq configuration of a provisioning network",
		Long: "Write what dnsmasq leases: the pool's dhcpRange or, where the files have the cluster's Provisioning\n" +
			"object or metal3's ConfigMap with DHCP_RANGE, the range of those. With --boot-server hosts boot\n" +
			"over the network too, with BIOS, UEFI and iPXE, as metal3's own dnsmasq has them boot.",
		Example: "  kubectl lca ipam render dnsmasq -f pools.yaml --pool provisioning --interface eth1 > dnsmasq.conf\n" +
			"  kubectl lca ipam render dnsmasq -f pools.yaml --pool provisioning --interface eth1 --boot-server 172.22.0.3",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v, err := w.loadInventory(in)
			if err != nil {
				return err
			}
			c, err := v.Provisioning(pool, iface)
			if err != nil {
				return err
			}
			c.LeaseFile = leaseFile
			if server != "" {
				if boot.Server, err = ipam.ParseAddr(server); err != nil {
					return fmt.Errorf("--boot-server: %w", err)
				}
				c.Boot = &boot
			}
			text, err := c.Render()
			if err != nil {
				return err
			}
			return w.printAnswer(in, rendered{Form: "dnsmasq", Content: text})
		},
	}
	in.addFlags(cmd, output.Text)
	cmd.Flags().StringVar(&pool, "pool", "", "pool with the DHCP range, as name or namespace/name")
	cmd.Flags().StringVar(&iface, "interface", "", "interface on which dnsmasq answers")
	cmd.Flags().StringVar(&leaseFile, "lease-file", "", "file in which dnsmasq keeps its leases (default: dnsmasq's own)")
	cmd.Flags().StringVar(&server, "boot-server", "", "address of the TFTP and HTTP server that hosts boot from")
	cmd.Flags().IntVar(&boot.HTTPPort, "boot-http-port", 6180, "port on which the boot server has boot.ipxe")
	cmd.Flags().StringVar(&boot.TFTPRoot, "tftp-root", "/shared/tftpboot", "directory of the files that firmware loads")
	return cmd
}
