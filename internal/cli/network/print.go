package network

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// form is how a document is printed.
type form struct {
	json    bool
	quiet   bool
	secrets bool
}

func (f *form) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON instead of YAML")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print nothing but errors")
	cmd.Flags().BoolVarP(&f.secrets, "show-secrets", "s", false, "print keys and passwords too")
}

// document prints a state.
func (w Documents) printDocument(f form, d netstate.Document) error {
	if f.quiet {
		return nil
	}
	if !f.secrets {
		d = d.Redacted()
	}
	if f.json {
		enc := json.NewEncoder(w.Out)
		enc.SetIndent("", "  ")
		return enc.Encode(d)
	}
	text, err := d.Encode()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Out, "---\n%s", text)
	return err
}
