package seed

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/preflight"
)

// Checked is the answer of check.
type Checked struct {
	SeedImage string                 `json:"seedImage,omitempty"`
	Checks    []lcav1.PreflightCheck `json:"checks"`
	// Refused: a generation would be refused.
	Refused bool `json:"refused"`
}

func newCheckCommand(w Wiring) *cobra.Command {
	var spec lcav1.SeedGeneratorSpec
	var format string
	cmd := &cobra.Command{
		Use: "check", Args: cobra.NoArgs, Short: "Say whether a seed image can be made of this cluster, and what to mend",
		Long: "Make the checks that the agent makes before it takes a seed image, and change nothing. What is not given is read from\n" +
			"the SeedGenerator of the cluster, where there is one. Exit code 3 says that a generation would be refused.",
		Example: "  lca-cli seed check --seed-image registry.example.com/seeds/sno:4.20.3",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			asked, facts, err := w.Survey(cmd.Context(), spec)
			if err != nil {
				return err
			}
			answer := Checked{SeedImage: asked.SeedImage, Checks: preflight.Validate(asked, facts)}
			if asked.SeedImage == "" {
				preflight.Skip(answer.Checks, "no image is named: add --seed-image", preflight.CheckSeedImage, preflight.CheckSeedAuth)
			}
			answer.Refused = preflight.Refusal(answer.Checks) != nil
			if err := output.Print(w.Out, f, answer); err != nil {
				return err
			}
			if answer.Refused {
				return &verb.FinalError{Cause: errors.New("a seed image of this cluster would be refused as it is")}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&spec.SeedImage, "seed-image", "", "pull specification to publish the image as")
	cmd.Flags().StringVar(&spec.RecertImage, "recert-image", "", "image of recert for nodes that restore the seed image")
	outputFlag(cmd, &format)
	return cmd
}

// Text implements output.Answer.
func (c Checked) Text(out io.Writer) error {
	tw := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "CHECK\tSEVERITY\tRESULT\tMESSAGE")
	for _, check := range c.Checks {
		message := check.Message
		if check.Hint != "" {
			message += ": " + check.Hint
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", check.Name, check.Severity, check.Result, strings.ReplaceAll(message, "\n", "; "))
	}
	return tw.Flush()
}
