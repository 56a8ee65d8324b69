package relocation

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
)

// FilesWiring is what main gives the verb that works on files alone.
type FilesWiring struct{ Out io.Writer }

// MachineConfigCommand is "relocation machineconfig".
func MachineConfigCommand(w FilesWiring) *cobra.Command {
	m := factory.MachineConfig{}
	var internal string
	cmd := &cobra.Command{
		Use: "machineconfig --internal-address ADDRESS/LENGTH", Args: cobra.NoArgs,
		Short: "Print the MachineConfig by which a cluster is relocatable from its installation on",
		Long: "Print a MachineConfig for the folder of manifests of an installation. It gives the node an internal address on br-ex,\n" +
			"has kubelet and crio use it (KUBELET_NODEIP_HINT), and brings the units of the reconfiguration, which 'lca-cli\n" +
			"relocation prepare' enables in the system that is shipped. The machine network of the install-config is the\n" +
			"network of the internal address.",
		Example: "  lca-cli relocation machineconfig --internal-address 192.168.126.2/24 > openshift/98-relocation.yaml",
		RunE: func(*cobra.Command, []string) (err error) {
			if m.Internal, err = netip.ParsePrefix(internal); err != nil {
				return fmt.Errorf("--internal-address %q is not an address with a prefix length, such as 192.168.126.2/24", internal)
			}
			data, err := m.Render()
			if err != nil {
				return err
			}
			_, err = w.Out.Write(data)
			return err
		},
	}
	cmd.Flags().StringVar(&internal, "internal-address", "", "the node's own address on br-ex, with its prefix length")
	cmd.Flags().StringVar(&m.Role, "role", "master", "the pool of the MachineConfig")
	cmd.Flags().BoolVar(&m.Hint, "node-ip-hint", true, "have kubelet and crio use the internal address as the node's own")
	_ = cmd.MarkFlagRequired("internal-address") // fails for unknown flags only
	return cmd
}
