package ipconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
)

// watchPause lies between two looks.
const watchPause = time.Second

// shower shows one status after the other; it says nothing where nothing changed.
type shower func(s *Status, now time.Time) error

// watchStatus shows where the change stands until ctx ends: nobody has to ask again, and nothing is asked of the
// API, which is down most of the time.
func watchStatus(ctx context.Context, w Wiring, f output.Format) error {
	node, _, err := w.Node(ctx, false)
	if err != nil {
		return err
	}
	for show := w.shower(f); ; {
		s, err := describe(ctx, w, node)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the person has seen enough
		}
		if err != nil {
			s = &Status{Where: "cannot be told now; looking again", Failure: err.Error()}
		}
		if err := show(s, node.Clock.Now()); err != nil {
			return fmt.Errorf("show the status: %w", err)
		}
		if err := node.Clock.Sleep(ctx, watchPause); err != nil {
			return nil //nolint:nilerr // the person has seen enough
		}
	}
}

// shower chooses: documents for programs, a screen for a person, lines for a file.
func (w Wiring) shower(f output.Format) shower {
	switch {
	case f != output.Text:
		return documents(w.Out, f)
	case w.Screen != nil:
		return (&screen{out: w.Out, size: w.Screen}).show
	}
	return (&teller{out: w.Out}).show
}

// documents writes each status that differs from the one before: JSON one on a line, YAML
// as documents of a stream.
func documents(out io.Writer, f output.Format) shower {
	var last []byte
	return func(s *Status, _ time.Time) error {
		data, err := encode(s, f)
		if err != nil || bytes.Equal(data, last) {
			return err
		}
		last = data
		_, err = out.Write(data)
		return err
	}
}

func encode(s *Status, f output.Format) ([]byte, error) {
	if f == output.JSON {
		data, err := json.Marshal(s)
		return append(data, '\n'), err
	}
	data, err := yaml.Marshal(s)
	return append([]byte("---\n"), data...), err
}

// teller writes one line for each change, for a log or a console that is no terminal.
type teller struct {
	out                              io.Writer
	operation, where, cause, current string
	told                             int
}

func (t *teller) show(s *Status, now time.Time) error {
	if s.Operation != t.operation && s.Operation != "" {
		*t = teller{out: t.out, operation: s.Operation}
	}
	var b bytes.Buffer
	line := func(at time.Time, text string) { fmt.Fprintf(&b, "%s  %s\n", at.Format(time.TimeOnly), plain(text)) }
	for _, step := range s.Steps[min(t.told, len(s.Steps)):] {
		line(step.Ended, step.String())
	}
	t.told = len(s.Steps)
	if s.Cause != t.cause && s.Cause != "" {
		line(now, "rollback: "+s.Cause)
	}
	if s.Where != t.where {
		line(now, s.summary())
	}
	if c := s.Current; c != nil && c.Flow+c.Step != t.current {
		line(c.Started, c.String()+" ...")
		t.current = c.Flow + c.Step
	}
	t.cause, t.where = s.Cause, s.Where
	_, err := t.out.Write(b.Bytes())
	return err
}

// summary is the status in a line.
func (s *Status) summary() string {
	text := s.Where
	if s.Operation != "" {
		text = s.Operation + ": " + text
	}
	if s.Failure != "" {
		text += "; " + s.Failure
	}
	return text
}
