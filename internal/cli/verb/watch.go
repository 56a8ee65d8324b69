package verb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
)

// watchInterval lies between two observations.
const watchInterval = time.Second

// Source observes the node.
type Source func(ctx context.Context) (Report, error)

// StatusCommand is the verb "status" over a source, once or with --watch.
func (w Wiring) StatusCommand(short string, open func(context.Context) (Source, error)) *cobra.Command {
	var format string
	var watch bool
	cmd := &cobra.Command{
		Use: "status", Args: cobra.NoArgs, Short: short,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			source, err := open(cmd.Context())
			if err != nil {
				return err
			}
			if watch {
				return w.watchReports(cmd.Context(), source, f)
			}
			report, err := source(cmd.Context())
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, report)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false,
		"show every change until interrupted: in place on a terminal, otherwise one line each")
	return cmd
}

// display shows one report after the other, and nothing where nothing changed.
type display func(r Report, now time.Time) error

// watchReports shows reports until ctx ends. It asks nothing of the API, which is down during most of a change.
func (w Wiring) watchReports(ctx context.Context, source Source, f output.Format) error {
	for show := w.newDisplay(f); ; {
		r, err := source(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the user has interrupted it
		}
		if err != nil {
			r = &Status{Where: "unknown for now; retrying", Failure: err.Error()}
		}
		if err := show(r, w.Clock.Now()); err != nil {
			return fmt.Errorf("show the status: %w", err)
		}
		if err := w.Clock.Sleep(ctx, watchInterval); err != nil {
			return nil //nolint:nilerr // the user has interrupted it
		}
	}
}

// newDisplay chooses: documents for programs, a screen for a person, lines for a file.
func (w Wiring) newDisplay(f output.Format) display {
	switch {
	case f != output.Text:
		return displayDocuments(w.Out, f)
	case w.Screen != nil:
		return (&screen{out: w.Out, size: w.Screen}).redraw
	}
	return (&lines{out: w.Out}).writeChanges
}

// displayDocuments writes each status that differs from the one before: JSON one on a line, YAML
// as documents of a stream.
func displayDocuments(out io.Writer, f output.Format) display {
	var last []byte
	return func(r Report, _ time.Time) error {
		data, err := encodeReport(r, f)
		if err != nil || bytes.Equal(data, last) {
			return err
		}
		last = data
		_, err = out.Write(data)
		return err
	}
}

func encodeReport(r Report, f output.Format) ([]byte, error) {
	if f == output.JSON {
		data, err := json.Marshal(r)
		return append(data, '\n'), err
	}
	data, err := yaml.Marshal(r)
	return append([]byte("---\n"), data...), err
}

// lines writes one line for each change, for a log or a console that is no terminal.
type lines struct {
	out                       io.Writer
	operation, where, current string
	outcome                   []Fact
	written                   int
}

func (t *lines) writeChanges(r Report, now time.Time) error {
	s := r.Core()
	if s.Operation != t.operation && s.Operation != "" {
		*t = lines{out: t.out, operation: s.Operation}
	}
	var b bytes.Buffer
	line := func(at time.Time, text string) {
		fmt.Fprintf(&b, "%s  %s\n", at.Format(time.TimeOnly), stripControls(text))
	}
	for _, step := range s.Steps[min(t.written, len(s.Steps)):] {
		line(step.Ended, step.String())
	}
	t.written = len(s.Steps)
	for _, f := range s.Outcome {
		if f.Text != "" && !slices.Contains(t.outcome, f) {
			line(now, strings.ToLower(f.Label)+": "+f.Text)
		}
	}
	if s.Where != t.where {
		line(now, s.summarize())
	}
	if c := s.Current; c != nil && c.Flow+c.Step != t.current {
		line(c.Started, c.String()+" ...")
		t.current = c.Flow + c.Step
	}
	t.outcome, t.where = s.Outcome, s.Where
	_, err := t.out.Write(b.Bytes())
	return err
}

// summarize is the status in a line.
func (s *Status) summarize() string {
	text := s.Where
	if s.Operation != "" {
		text = s.Operation + ": " + text
	}
	if s.Failure != "" {
		text += "; " + s.Failure
	}
	return text
}
