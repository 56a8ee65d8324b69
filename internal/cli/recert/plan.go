package recert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
)

// planAnswer is the answer of "recert plan".
type planAnswer struct{ *recert.Plan }

// Text implements output.Answer.
func (a planAnswer) Text(w io.Writer) error { return a.WriteText(w) }

func newPlanCommand(w Wiring) *cobra.Command {
	return newVerbCommand("plan", "Show what apply would do, without changing anything",
		"List the certificates that are signed again, the fields and files that change, the objects that are\n"+
			"deleted because the cluster recreates them, and what is kept. It fails where apply would refuse.",
		func(ctx context.Context, c call, f output.Format) error {
			engine, ports, err := w.openEngine(c.source)
			if err != nil {
				return err
			}
			cfg, err := readConfig(ports.Files, c.config)
			if err != nil {
				return err
			}
			for _, remark := range cfg.Remarks {
				w.Log.Info("recert configuration", "remark", remark)
			}
			p, err := engine.Preview(ctx, c.config)
			if err != nil {
				return err
			}
			if err := output.Print(w.Out, f, planAnswer{p}); err != nil {
				return err
			}
			if len(p.Blocked) > 0 {
				return fmt.Errorf("%w: %s", recert.ErrBlocked, inspect.Count(len(p.Blocked), "reason"))
			}
			return nil
		})
}

func readConfig(files host.Files, path string) (config.Config, error) {
	text, err := files.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Config{}, fmt.Errorf("%s does not exist: an IP change writes it; --config names another file", path)
	}
	if err != nil {
		return config.Config{}, fmt.Errorf("read the recert configuration: %w", err)
	}
	return config.Parse(text)
}

// applyAnswer is the answer of "recert apply".
type applyAnswer struct {
	Config  string       `json:"config"`
	DryRun  bool         `json:"dryRun,omitempty"`
	Summary string       `json:"summary"`
	Seconds float64      `json:"seconds"`
	Done    *recert.Plan `json:"done"`
}

// Text implements output.Answer.
func (a applyAnswer) Text(w io.Writer) error {
	if err := a.Done.WriteText(w); err != nil {
		return err
	}
	var err error
	switch {
	case a.Done.Empty():
	case a.DryRun:
		_, err = fmt.Fprintf(w, "Nothing was changed: dry_run is set. The report is in %s.\n", a.Summary)
	default:
		_, err = fmt.Fprintf(w, "Done. The report is in %s.\n", a.Summary)
	}
	return err
}

// lockTimeout is how long apply waits for another verb to end.
const lockTimeout = 2 * time.Minute

func newApplyCommand(w Wiring) *cobra.Command {
	return newVerbCommand("apply", "Change the cluster as the configuration says",
		"Make the changes that plan shows, and print them. The cluster must be stopped. The next run completes one that\n"+
			"was interrupted; a run after that finds nothing to do.",
		func(ctx context.Context, c call, f output.Format) error {
			c.source.Write = true
			engine, ports, err := w.openEngine(c.source)
			if err != nil {
				return err
			}
			cfg, err := readConfig(ports.Files, c.config)
			if err != nil {
				return err
			}
			release, err := w.mayWrite(ctx, c.source)
			if err != nil {
				return err
			}
			defer release()
			began := time.Now()
			done, err := engine.Apply(ctx, c.config)
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, applyAnswer{
				Config: c.config, DryRun: cfg.DryRun, Summary: cfg.SummaryFile,
				Seconds: time.Since(began).Round(time.Millisecond).Seconds(), Done: done,
			})
		})
}

// mayWrite takes the lock and checks that the cluster is stopped. Another root is not a running node, so it needs neither.
func (w Wiring) mayWrite(ctx context.Context, s Source) (release func(), err error) {
	if s.Root != "/" {
		return func() {}, nil
	}
	wait, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	if release, err = w.Lock(wait, "recert apply"); err != nil {
		return nil, err
	}
	if err := w.Stopped(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}
