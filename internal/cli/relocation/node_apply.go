package relocation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/delivery"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/intake"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

func (w NodeWiring) newApplyCommand() *cobra.Command {
	var from string
	var dry, leave bool
	cmd := &cobra.Command{
		Use: "apply -f FILE", Args: cobra.NoArgs,
		Short: "Give this node its site configuration on the console, as a stick does",
		Long: "Read a site configuration from a file, from a directory with the layout of a stick, or from standard input (-), show\n" +
			"what it changes, and have the node carry it out. A configuration that was tried before is tried again.",
		Example: "  lca-cli relocation apply -f site-config.yaml\n  lca-cli relocation apply -f site-config.yaml --dry-run",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := readSite(from, cmd.InOrStdin())
			if err != nil {
				return w.Verdict("relocation apply", err)
			}
			return w.Verdict("relocation apply", w.applyConfig(cmd.Context(), c, dry, leave))
		},
	}
	cmd.Flags().StringVarP(&from, "filename", "f", "", "the configuration: a file, a directory, or - for standard input")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVar(&leave, "no-wait", false, "return when the node has taken the configuration")
	_ = cmd.MarkFlagRequired("filename") // fails for unknown flags only
	return cmd
}

// readSite reads the configuration; mistakes in it are refused, all at once.
func readSite(from string, in io.Reader) (siteconfig.SiteConfig, error) {
	if st, err := os.Stat(from); err == nil && st.IsDir() {
		f, err := delivery.ReadFolder(os.DirFS(from))
		if err != nil {
			return siteconfig.SiteConfig{}, fmt.Errorf("read %s: %w", from, err)
		}
		return f.Config, refuseProblems(from, f.Problems)
	}
	if from != "-" {
		f, err := os.Open(from)
		if err != nil {
			return siteconfig.SiteConfig{}, fmt.Errorf("read the site configuration: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, siteconfig.MaxSize+1))
	if err != nil {
		return siteconfig.SiteConfig{}, fmt.Errorf("read the site configuration: %w", err)
	}
	c, problems := siteconfig.Decode(data)
	return c, refuseProblems(from, problems)
}

func refuseProblems(from string, problems []siteconfig.Problem) error {
	var errs []error
	for _, p := range problems {
		errs = append(errs, errors.New(p.String()))
	}
	if len(errs) == 0 {
		return nil
	}
	return operation.Refuse("%s cannot be used:\n%w", from, errors.Join(errs...))
}

func (w NodeWiring) applyConfig(ctx context.Context, c siteconfig.SiteConfig, dry, leave bool) error {
	ports, _, err := w.Site(ctx, false)
	if err != nil {
		return err
	}
	site, err := intake.NewSite(ports.Node)
	if err != nil {
		return err
	}
	plan, problems, err := site.Submit(ctx, c)
	if err != nil || len(problems) > 0 {
		return errors.Join(err, refuseProblems("the configuration", problems))
	}
	for _, line := range append(plan.Sentences, plan.Warnings...) {
		fmt.Fprintln(w.Out, "- "+line)
	}
	if dry {
		return nil
	}
	if err := checkCanApply(ctx, ports, plan.ID); err != nil {
		return err
	}
	if err := site.Start(ctx, plan.ID); errors.Is(err, portal.ErrUnderWay) {
		return operation.Refuse("another configuration is being carried out: 'lca-cli relocation status --watch' shows it")
	} else if err != nil {
		return err
	}
	if err := ports.Units.Start(ctx, relocation.UnitReconfigure); err != nil {
		return fmt.Errorf("start %s: %w", relocation.UnitReconfigure, err)
	}
	if leave {
		return nil
	}
	return w.followSite(ctx, site)
}

// checkCanApply refuses where no configuration can be taken: on a node that is at home, and while the factory's cluster runs.
func checkCanApply(ctx context.Context, n onsite.Ports, digest string) error {
	record, err := relocation.ReadRecord(n.Files)
	if err != nil {
		return err
	}
	last, err := relocation.ReadLast(n.Files)
	if err != nil {
		return err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	_, held := n.Files.Stat(relocation.HoldFile)
	switch {
	case last.Outcome == relocation.OutcomeHome && last.Digest == digest:
		return operation.Refuse("this configuration was applied at %s and is active",
			last.Ended.UTC().Format(time.RFC3339))
	case last.Outcome == relocation.OutcomeHome:
		return operation.Refuse("the node is at home on its site: 'lca-cli relocation rollback' goes back to the factory state, where " +
			"it takes another configuration")
	case here.Booted.Stateroot == record.Factory && held != nil:
		return operation.Refuse("the factory's cluster runs: boot stateroot %s, which waits for a configuration", record.Site)
	}
	return nil
}

// followSite shows each step until the attempt has ended.
func (w NodeWiring) followSite(ctx context.Context, site portal.Site) error {
	for shown := ""; ; {
		now, err := site.Progress(ctx)
		if err != nil {
			return err
		}
		if line := fmt.Sprintf("[%d/%d] %s", now.Step, now.Steps, now.Title); now.State == portal.Running && line != shown {
			shown = line
			fmt.Fprintln(w.Out, line)
		}
		switch now.State {
		case portal.Succeeded:
			_, err := fmt.Fprintln(w.Out, "the node is at home on its site; 'lca-cli relocation handover' prints the credentials, once")
			return err
		case portal.Failed:
			e := sitecode.Lookup(now.Code)
			return &verb.FinalError{Cause: fmt.Errorf("code %s: %s %s (%s)", now.Code, e.Meaning, e.Action, now.Message)}
		default: // it goes on
		}
		if err := w.Clock.Sleep(ctx, time.Second); err != nil {
			return fmt.Errorf("the node continues; see 'lca-cli relocation status --watch': %w", err)
		}
	}
}
