package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Status is the answer of "network status": the changes of the network that may still be rolled back.
type Status struct {
	// Pending was applied with --no-commit.
	Pending *PendingChange `json:"pending,omitempty"`
	// Trials are checkpoints of other programs.
	Trials []Trial `json:"trials"`
}

// PendingChange waits for a commit.
type PendingChange struct {
	Began    time.Time `json:"began"`
	Deadline time.Time `json:"deadline"`
	// Left is the rest of the time, in seconds.
	Left int `json:"secondsLeft"`
}

// Trial is a checkpoint of another program.
type Trial struct {
	host.NetworkTrial
	// Left is the rest of the time, in seconds; none is for ever.
	Left *int `json:"secondsLeft,omitempty"`
}

// Text implements output.Answer.
func (s Status) Text(out io.Writer) error {
	var errs []error
	say := func(format string, args ...any) {
		_, err := fmt.Fprintf(out, format+"\n", args...)
		errs = append(errs, err)
	}
	if s.Pending == nil && len(s.Trials) == 0 {
		say("no change of the network waits for a commit")
	}
	if p := s.Pending; p != nil {
		say("a change waits for 'lca-cli network commit' or 'rollback'; it is rolled back in %s", time.Duration(p.Left)*time.Second)
	}
	for _, t := range s.Trials {
		left := ""
		if t.Left != nil {
			left = fmt.Sprintf(", %s from now", time.Duration(*t.Left)*time.Second)
		}
		say("%s%s", t.NetworkTrial, left)
		say("  policies and 'apply' wait for its end; 'lca-cli network rollback %s' ends it and restores the network before it, "+
			"'commit' keeps the network that runs", t.ID)
	}
	return errors.Join(errs...)
}

func (w Wiring) newStatusCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "status", Args: cobra.NoArgs, Short: "Show which changes of this node's network may still be rolled back, and by whom",
		Long: "Show which changes of this node's network may still be rolled back: one that was applied with --no-commit, and those\n" +
			"that other programs have on trial by a checkpoint of NetworkManager, with the program where its log names it.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			s, err := w.readStatus(cmd.Context())
			if err != nil {
				return fmt.Errorf("network status: %w", err)
			}
			return output.Print(w.Out, f, s)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	return cmd
}

func (w Wiring) readStatus(ctx context.Context) (Status, error) {
	node, err := w.Node(ctx)
	if err != nil {
		return Status{}, err
	}
	s := Status{Trials: []Trial{}}
	now := w.Clock.Now()
	p, pending, err := node.Transaction.Pending(ctx)
	if err != nil {
		return s, err
	}
	if pending {
		s.Pending = &PendingChange{Began: p.Began, Deadline: p.Deadline, Left: secondsUntil(p.Deadline, now)}
	}
	trials, err := node.Trials.Trials(ctx)
	for _, t := range trials {
		trial := Trial{NetworkTrial: t}
		if !t.Ends.IsZero() {
			trial.Left = new(secondsUntil(t.Ends, now))
		}
		s.Trials = append(s.Trials, trial)
	}
	return s, err
}

func secondsUntil(end, now time.Time) int {
	return max(int(end.Sub(now).Round(time.Second).Seconds()), 0)
}

// warnOfTrials says beside an answer that the network may be another one soon.
func (w Wiring) warnOfTrials(ctx context.Context) {
	s, err := w.readStatus(ctx)
	if err != nil {
		w.Log.Warn("it is unknown whether this network may be rolled back", "error", err)
	}
	for _, t := range s.Trials {
		w.Log.Warn("this network may be rolled back; see 'lca-cli network status'", "trial", t.String())
	}
}
