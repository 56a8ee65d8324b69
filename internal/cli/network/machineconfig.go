package network

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func (w Wiring) machineConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "machineconfig", Short: "Print MachineConfigs for the networks of OpenShift's machine config pools",
		Long: "Print manifests for the networks of OpenShift's machine config pools. These verbs need no node and no cluster.",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(w.documentConfig(), w.overlayConfig(), w.disruptionPolicy())
	return cmd
}

func (w Wiring) documentConfig() *cobra.Command {
	var pool, policy string
	cmd := &cobra.Command{
		Use: "document FILE", Args: cobra.ExactArgs(1), Short: "Print the MachineConfig that carries a policy's document to a pool",
		RunE: func(_ *cobra.Command, args []string) error {
			if problems := append(validation.IsDNS1123Subdomain(pool), validation.IsDNS1123Subdomain(policy)...); len(problems) > 0 {
				return fmt.Errorf("--pool %q, --policy %q: %s", pool, policy, problems[0])
			}
			d, err := w.desired(args[0], needsNoNode)
			if err != nil {
				return err
			}
			text, err := d.Encode()
			if err != nil {
				return err
			}
			document, err := yaml.YAMLToJSON(text)
			if err != nil {
				return fmt.Errorf("format the document: %w", err)
			}
			return w.manifest(machineconfig.Document(pool, policy, document))
		},
	}
	cmd.Flags().StringVar(&pool, "pool", "worker", "machine config pool that takes the document up")
	cmd.Flags().StringVar(&policy, "policy", "", "name of the policy that the document is of")
	_ = cmd.MarkFlagRequired("policy")
	return cmd
}

// needsNoNode refuses captures: their result differs from node to node, and a pool has one document.
func needsNoNode() (netstate.Document, error) {
	return netstate.Document{}, errors.New("a document for a pool cannot have captures")
}

func (w Wiring) overlayConfig() *cobra.Command {
	var role string
	overlay := machineconfig.DefaultOverlay()
	cmd := &cobra.Command{
		Use: "overlay", Args: cobra.NoArgs, Short: "Print the MachineConfig that makes NetworkManager profiles end with the boot",
		Long: "Print the MachineConfig that makes NetworkManager profiles end with the boot: NetworkManager writes to an overlay whose\n" +
			"upper folder is in memory, over the profiles that MachineConfigs own.",
		RunE: func(*cobra.Command, []string) error { return w.manifest(overlay.MachineConfig(role)) },
	}
	set := cmd.Flags()
	set.StringVar(&role, "role", "worker", "role whose machine config pools take the overlay up")
	set.StringVar(&overlay.Lower, "lower", overlay.Lower, "folder of the profiles that MachineConfigs own")
	set.StringVar(&overlay.Merged, "merged", overlay.Merged, "folder that NetworkManager reads and writes")
	set.StringVar(&overlay.SELinux, "selinux-context", overlay.SELinux, "SELinux context of the merged folder; empty for none")
	return cmd
}

func (w Wiring) disruptionPolicy() *cobra.Command {
	return &cobra.Command{
		Use: "disruption-policy", Args: cobra.NoArgs,
		Short: "Print the MachineConfiguration that has documents change without a drain or a reboot",
		RunE:  func(*cobra.Command, []string) error { return w.manifest(machineconfig.NodeDisruptionPolicy(), nil) },
	}
}

// manifest prints an object as YAML.
func (w Wiring) manifest(object any, err error) error {
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("format the manifest: %w", err)
	}
	_, err = w.Out.Write(text)
	return err
}
