package relocation

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/report"
)

// formatHTML is a page to print, beside the formats of every verb.
const formatHTML = "html"

func (w NodeWiring) newVerifyCommand() *cobra.Command {
	var days int
	var format, file string
	cmd := &cobra.Command{
		Use: "verify", Args: cobra.NoArgs,
		Short: "Prove this node before it is shipped, and write the shipping report",
		Long: "Check the cluster, its certificates and images, the disk and what would block the reconfiguration on site. Nothing\n" +
			"is changed. The exit code is 1 where a check fails.",
		Example: "  lca-cli relocation verify --days-on-the-shelf 60\n  lca-cli relocation verify -o html --output-file report.html",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.verifyNode(cmd.Context(), days, format, file)
		},
	}
	cmd.Flags().IntVar(&days, "days-on-the-shelf", defaultShelfDays, "for how many days the node may be switched off")
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml, json or html")
	cmd.Flags().StringVar(&file, "output-file", "", "write the report to this file, and only its verdict to the terminal")
	return cmd
}

func (w NodeWiring) verifyNode(ctx context.Context, days int, format, file string) error {
	if _, err := output.Parse(format); err != nil && format != formatHTML {
		return fmt.Errorf("output format %q is none of text, yaml, json, html", format)
	}
	if days < 0 {
		return fmt.Errorf("--days-on-the-shelf %d is negative", days)
	}
	ports, err := w.Report(ctx)
	if err != nil {
		return err
	}
	r, err := report.Verify(ctx, ports, w.Machine(), days)
	if err != nil {
		return err
	}
	//nolint:contextcheck // a page of a few lines is written to memory
	if err := w.writeReport(r, format, file); err != nil {
		return err
	}
	if !r.Ready {
		return fmt.Errorf("the node is not ready to be shipped: checks failed: %d", r.Count(report.Failure))
	}
	return nil
}

func (w NodeWiring) writeReport(r report.Report, format, file string) error {
	var b bytes.Buffer
	if format == formatHTML {
		if err := r.HTML(&b); err != nil {
			return err
		}
	} else if err := output.Print(&b, output.Format(format), r); err != nil {
		return err
	}
	if file == "" {
		_, err := w.Out.Write(b.Bytes())
		return err
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err := fmt.Fprintln(w.Out, r.Verdict())
	return err
}
