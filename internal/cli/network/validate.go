package network

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/review"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

func (w Documents) newValidateCommand() *cobra.Command {
	var quiet bool
	var more []string
	cmd := &cobra.Command{
		Use: "validate [FILE...]", Args: cobra.ArbitraryArgs,
		Short: "Say everything that is wrong with documents, policies or MachineConfigs, without a node",
		Long: "Say everything that is wrong with documents, policies or MachineConfigs, without a node. A\n" +
			"NodeNetworkConfigurationPolicy is checked as the operator's webhook checks it; of a MachineConfig, the documents that\n" +
			"it carries are. With -, standard input is read.",
		RunE: func(_ *cobra.Command, files []string) error {
			if files = append(files, more...); len(files) == 0 {
				return errors.New("validate needs a file: name it, or give it with --file")
			}
			return w.checkAll(files, quiet)
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but errors")
	cmd.Flags().StringArrayVarP(&more, "file", "f", nil, "file to check; may be given more than once")
	return cmd
}

func (w Documents) checkAll(files []string, quiet bool) error {
	var all error
	for _, name := range files {
		data, err := w.readFile(name)
		if err == nil {
			err = checkFile(data)
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", name, err))
		} else if !quiet {
			fmt.Fprintf(w.Out, "%s: nothing is wrong with it\n", name)
		}
	}
	return all
}

// checkFile checks every document of a file; in a file with several, a problem names the document by its number.
func checkFile(data []byte) error {
	if len(data) > tree.MaxBytes {
		return fmt.Errorf("the file has more than %d bytes, which are the most that is read", tree.MaxBytes)
	}
	documents, err := splitDocuments(data)
	if err != nil {
		return err
	}
	if len(documents) == 0 {
		return checkByKind(data)
	}
	var all error
	for i, document := range documents {
		err := checkListOrOne(document)
		if err != nil && len(documents) > 1 {
			err = fmt.Errorf("document %d: %w", i+1, err)
		}
		all = errors.Join(all, err)
	}
	return all
}

// checkListOrOne checks a document, or what a List has, as "kubectl get -o yaml" prints it; a problem there names the item.
func checkListOrOne(data []byte) error {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := yaml.Unmarshal(data, &list); err != nil || !strings.HasSuffix(list.Kind, "List") {
		return checkByKind(data) // what is no YAML is reported by its decoder, with the line
	}
	var all error
	for i, item := range list.Items {
		if err := checkByKind(item); err != nil {
			var named metav1.PartialObjectMetadata
			_ = json.Unmarshal(item, &named) // an item without a name has its number
			all = errors.Join(all, fmt.Errorf("item %s: %w", cmp.Or(named.Name, strconv.Itoa(i)), err))
		}
	}
	return all
}

// splitDocuments is the documents of a YAML stream, without those that hold comments alone.
func splitDocuments(data []byte) (all [][]byte, err error) {
	stream := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := stream.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split the file into its documents: %w", err)
		}
		var content any
		if yaml.Unmarshal(document, &content) != nil || content != nil { // what is no YAML is reported by its decoder
			all = append(all, document)
		}
	}
}

// checkByKind finds out what a document is, and what is wrong with it.
func checkByKind(data []byte) error {
	var kind metav1.TypeMeta
	_ = yaml.Unmarshal(data, &kind) // a document has no kind; what is no YAML is reported by its decoder, with the line
	switch kind.Kind {
	case "NodeNetworkConfigurationPolicy":
		return checkPolicy(data)
	case "MachineConfig":
		return checkMachineConfig(data)
	}
	p, err := policy.Read(data)
	switch {
	case err == nil && len(p.Captures) > 0:
		return policy.Check(p)
	case err == nil:
		data = p.Desired
	}
	return checkDocument(data)
}

func checkDocument(data []byte) error {
	d, err := netstate.Decode(data)
	if err != nil {
		return err
	}
	return netstate.Validate(d)
}

func checkPolicy(data []byte) error {
	p := &nmstatev1.NodeNetworkConfigurationPolicy{}
	if err := yaml.UnmarshalStrict(data, p); err != nil {
		return fmt.Errorf("read the policy: %w", err)
	}
	if found := review.Check(p); len(found) > 0 {
		return found
	}
	return nil
}

// checkMachineConfig checks every document, each named by its path on a node.
func checkMachineConfig(data []byte) error {
	mc := &mcv1.MachineConfig{}
	if err := yaml.Unmarshal(data, mc); err != nil {
		return fmt.Errorf("read the MachineConfig: %w", err)
	}
	if len(mc.Spec.Config.Raw) == 0 {
		return errors.New("the MachineConfig has no spec.config, and so no network document")
	}
	documents, err := machineconfig.Documents(mc.Spec.Config.Raw)
	if err != nil {
		return err // says which file
	}
	if len(documents) == 0 {
		return fmt.Errorf("the MachineConfig has no network document below %s", machineconfig.DisruptionPath)
	}
	var all error
	for _, path := range slices.Sorted(maps.Keys(documents)) {
		if err := checkDocument([]byte(documents[path])); err != nil {
			all = errors.Join(all, fmt.Errorf("file %s: %w", path, err))
		}
	}
	return all
}
