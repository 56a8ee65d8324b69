// Package sitefiles holds the verbs of "kubectl lca relocation", which write and check the configurations of sites on any machine.
// cmd/kubectl-lca builds them; they parse flags and call the domains below internal/relocation. They must not import an adapter.
package sitefiles

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/delivery"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// ConfigWiring is what main gives the verbs of "config".
type ConfigWiring struct {
	In  io.Reader
	Out io.Writer
}

// Command is "relocation" with its verbs.
func Command(config ConfigWiring, many SitesWiring) *cobra.Command {
	cmd := &cobra.Command{Use: "relocation", Short: "Write, check and describe the configurations of sites"}
	cmd.AddCommand(ConfigCommand(config), SitesCommand(many))
	return cmd
}

// ConfigCommand is "relocation config", with its verbs.
func ConfigCommand(w ConfigWiring) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Write, check and describe the configuration of a site"}
	cmd.AddCommand(w.newValidateCommand(), w.newInitCommand(), w.newSchemaCommand())
	return cmd
}

func (w ConfigWiring) newSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON schema of a SiteConfig", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(w.Out, siteconfig.Schema())
			return err
		},
	}
}

func (w ConfigWiring) newInitCommand() *cobra.Command {
	var full bool
	cmd := &cobra.Command{
		Use: "init", Short: "Print a SiteConfig to begin with",
		Example: "  kubectl lca relocation config init > site-config.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(w.Out, siteconfig.Example(full))
			return err
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "with every field")
	return cmd
}

// verdict is the answer of validate.
type verdict struct {
	File     string               `json:"file"`
	Valid    bool                 `json:"valid"`
	Problems []siteconfig.Problem `json:"problems"`
}

// Text implements output.Answer.
func (v verdict) Text(out io.Writer) error {
	if v.Valid {
		_, err := fmt.Fprintf(out, "%s: valid\n", v.File)
		return err
	}
	for _, p := range v.Problems {
		if _, err := fmt.Fprintf(out, "%s: %s\n", v.File, p); err != nil {
			return err
		}
	}
	return nil
}

func (w ConfigWiring) newValidateCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "validate FILE|FOLDER|-",
		Short: "Check a configuration and list everything that is wrong with it",
		Long: "Check a SiteConfig, a ClusterRelocation (rhsyseng.github.io/v1beta1) or a manifest.json (api_version 1).\n" +
			"A folder is read as a volume is, with the files beside the configuration. Whether the configuration fits a\n" +
			"node is reported on the node. It fails when there is a problem.",
		Example: "  kubectl lca relocation config validate site-config.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			v, err := w.checkConfig(args[0])
			if err != nil {
				return err
			}
			if err := output.Print(w.Out, f, v); err != nil {
				return err
			}
			if n := len(v.Problems); n == 1 {
				return errors.New("the configuration has 1 problem")
			} else if n > 1 {
				return fmt.Errorf("the configuration has %d problems", n)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "output format: text, yaml or json")
	return cmd
}

func (w ConfigWiring) checkConfig(name string) (verdict, error) {
	v := verdict{File: name, Problems: []siteconfig.Problem{}}
	info, err := os.Stat(name)
	switch {
	case name == "-":
		v.File = "standard input"
		data, err := io.ReadAll(io.LimitReader(w.In, siteconfig.MaxSize+1))
		if err != nil {
			return v, fmt.Errorf("read standard input: %w", err)
		}
		_, found := siteconfig.Decode(data)
		v.Problems = append(v.Problems, found...)
	case err != nil:
		return v, fmt.Errorf("read the configuration: %w", err)
	case info.IsDir():
		file, err := delivery.ReadFolder(os.DirFS(name))
		if err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
		v.File, v.Problems = file.Name, append(v.Problems, file.Problems...)
	default:
		data, err := readLimited(name, siteconfig.MaxSize)
		if err != nil {
			return v, err
		}
		_, found := siteconfig.Decode(data)
		v.Problems = append(v.Problems, found...)
	}
	v.Valid = len(v.Problems) == 0
	return v, nil
}

// readLimited reads a file, and a byte more than the limit where it is longer.
func readLimited(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}
