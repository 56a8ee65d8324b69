package network

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
)

// machineConfigs is what "network machineconfig" is asked for.
type machineConfigs struct {
	pool, name          string
	overlay, disruption bool
}

// newMachineConfigCommand prints what an administrator applies where nodes get their network from the machine config operator.
func (w Documents) newMachineConfigCommand() *cobra.Command {
	var f machineConfigs
	cmd := &cobra.Command{
		Use: "machineconfig [FILE]", Aliases: []string{"mc"}, Args: cobra.MaximumNArgs(1),
		Short: "Print the MachineConfig that carries a document to the nodes of a pool",
		Long: "Print the MachineConfig that carries a document to the nodes of a pool; oc apply -f takes it. With --overlay it is the\n" +
			"one that keeps what is changed on a running node until the next boot only. --node-disruption-policy prints what lets\n" +
			"documents change without a drain or a reboot.",
		RunE: func(_ *cobra.Command, args []string) error { return w.printMachineConfig(f, args) },
	}
	cmd.Flags().StringVar(&f.pool, "pool", "master", "machine config pool")
	cmd.Flags().StringVar(&f.name, "name", "", "name of the policy, which becomes part of the file's name")
	cmd.Flags().BoolVar(&f.overlay, "overlay", false, "print the overlay for profiles that last until the next boot")
	cmd.Flags().BoolVar(&f.disruption, "node-disruption-policy", false, "print the node disruption policy")
	cmd.MarkFlagsMutuallyExclusive("overlay", "node-disruption-policy")
	return cmd
}

func (w Documents) printMachineConfig(f machineConfigs, args []string) error {
	object, err := w.renderMachineConfig(f, args)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode the MachineConfig: %w", err)
	}
	_, err = w.Out.Write(text)
	return err // standard output is named by the system
}

func (w Documents) renderMachineConfig(f machineConfigs, args []string) (any, error) {
	switch {
	case (f.overlay || f.disruption) && len(args) > 0:
		return nil, errors.New("--overlay and --node-disruption-policy take no document")
	case f.disruption:
		return machineconfig.NodeDisruptionPolicy(), nil
	case f.overlay:
		return machineconfig.DefaultOverlay().MachineConfig(f.pool) // says which folder
	case f.name == "":
		return nil, errors.New("--name must be set, to the name of the policy that the document is of")
	}
	document, err := w.readDocument(append(args, "-")[0])
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	raw, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	return machineconfig.Document(f.pool, f.name, raw) // says what is wrong with the document
}
