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
)

// planAnswer is the answer of "recert plan".
type planAnswer struct{ *recert.Plan }

// Text implements output.Answer.
func (a planAnswer) Text(w io.Writer) error { return a.WriteText(w) }

func plan(w Wiring) *cobra.Command {
	return verb("plan", "Show what apply would do, without changing anything",
		"Says which certificates are signed again, which fields and files change, what is deleted so that the\n"+
			"cluster makes it again, and what stays. It ends with an error where apply would refuse.",
		func(ctx context.Context, c call, f output.Format) error {
			engine, ports, err := w.engine(c.source)
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
				return fmt.Errorf("%w: %d reasons", recert.ErrBlocked, len(p.Blocked))
			}
			return nil
		})
}

func readConfig(files host.Files, path string) (recert.Config, error) {
	text, err := files.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return recert.Config{}, fmt.Errorf("there is no %s: an IP change writes it, --config names another", path)
	}
	if err != nil {
		return recert.Config{}, fmt.Errorf("read the recert configuration: %w", err)
	}
	return recert.ParseConfig(text)
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
		_, err = fmt.Fprintf(w, "Nothing was changed: the configuration says dry_run. The report is in %s.\n", a.Summary)
	default:
		_, err = fmt.Fprintf(w, "Done. The report is in %s.\n", a.Summary)
	}
	return err
}

// lockPatience is how long apply waits for another verb to end.
const lockPatience = 2 * time.Minute

func apply(w Wiring) *cobra.Command {
	return verb("apply", "Change the cluster as the configuration says",
		"Does what plan shows, and says what it did. The cluster must be stopped. A run that was interrupted is\n"+
			"completed by the next; one after that finds nothing to do.",
		func(ctx context.Context, c call, f output.Format) error {
			c.source.Write = true
			engine, ports, err := w.engine(c.source)
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

// mayWrite takes the lock and looks whether the cluster is stopped. Another root is nobody's node.
func (w Wiring) mayWrite(ctx context.Context, s Source) (release func(), err error) {
	if s.Root != "/" {
		return func() {}, nil
	}
	wait, cancel := context.WithTimeout(ctx, lockPatience)
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
