package network

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Documents is what main gives the verbs that work on files alone, on any machine.
type Documents struct {
	In  io.Reader
	Out io.Writer
}

// DocumentsCommand is "network" with the verbs of files.
func DocumentsCommand(w Documents) *cobra.Command {
	cmd := &cobra.Command{
		Use: "network", Aliases: []string{"net"},
		Short: "Check, format and compare nmstate documents and policies",
		Long: "Check, format and compare nmstate documents and policies, on any machine. The verbs and flags are those of nmstatectl\n" +
			"where it has them. 'lca-cli network' shows, plans and changes the network of a node.",
	}
	cmd.AddCommand(w.newDiffCommand(), w.newRevertCommand(), w.newPolicyCommand(), w.newFormatCommand(), w.newValidateCommand(),
		w.newMachineConfigCommand())
	return cmd
}

// readFile is the content of a file, or of standard input for "-".
func (w Documents) readFile(name string) ([]byte, error) {
	in := w.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the network document: %w", err)
		}
		defer f.Close()
		in = f
	}
	// One byte more than is allowed is enough to know.
	data, err := io.ReadAll(io.LimitReader(in, tree.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the network document from %s: %w", name, err)
	}
	return data, nil
}

// readDocument reads a state.
func (w Documents) readDocument(name string) (netstate.Document, error) {
	data, err := w.readFile(name)
	if err != nil {
		return netstate.Document{}, err
	}
	d, err := netstate.Decode(data)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// readDesired reads a state or a policy, which is resolved over the current state, and validates it.
func (w Documents) readDesired(name string, current func() (netstate.Document, error)) (netstate.Document, error) {
	data, err := w.readFile(name)
	if err != nil {
		return netstate.Document{}, err
	}
	d, err := stateOrPolicy(data, current)
	if err == nil {
		err = netstate.Validate(d)
	}
	if err != nil {
		return netstate.Document{}, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// readCurrent reads the state of a node.
func (w Documents) readCurrent(file string) (netstate.Document, error) {
	if file == "" {
		return netstate.Document{}, errors.New("the current state is needed: name its file with -c " +
			"('lca-cli network show' prints that of a node)")
	}
	return w.readDocument(file)
}
