package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
)

// Bench is one run of all measurements.
type Bench struct {
	// Fresh makes a node that nobody has used; Discard removes it.
	Fresh   func(context.Context) (*lab.Lab, error)
	Discard func(context.Context, *lab.Lab) error
	// Sizes are the amounts of extra data in /var to measure with, in GB (10^9 bytes).
	Sizes []float64
	// Command is how this run was asked for, for the report.
	Command string
	// Reconcile holds figures of the Go benchmarks, to be shown with the rest.
	Reconcile []Reconcile
	// Say is told what is being done.
	Say func(string)
}

// Run measures, and returns what it has even if it could not finish.
func (b *Bench) Run(ctx context.Context) (Report, error) {
	started := time.Now()
	report := Report{Command: b.Command, Started: started.UTC(), Host: thisHost(), Reconcile: b.Reconcile}
	for _, size := range b.Sizes {
		node, err := b.measure(ctx, size)
		if err != nil {
			return report, fmt.Errorf("with %g GB of data: %w", size, err)
		}
		report.Nodes = append(report.Nodes, node)
		report.Seconds = time.Since(started).Seconds()
	}
	return report, nil
}

// measure takes one fresh node through everything.
func (b *Bench) measure(ctx context.Context, size float64) (Node, error) {
	b.say("%g GB: making a fresh node", size)
	l, err := b.Fresh(ctx)
	if err != nil {
		return Node{}, err
	}
	s, err := newSubject(ctx, l, func(text string) { b.say("%g GB: %s", size, text) })
	if err != nil {
		return Node{}, err
	}
	result := Node{Machine: string(l.Kind), SizeGB: size, LoadBefore: loadAverage()}
	for _, part := range []func(context.Context, *Node) error{
		s.fill, s.weigh, s.bareReboot, s.ours, s.cleanUp, s.reference,
	} {
		if err := part(ctx, &result); err != nil {
			return result, s.explain(ctx, err)
		}
	}
	result.LoadAfter = loadAverage()
	return result, b.Discard(ctx, l)
}

func (b *Bench) say(format string, args ...any) { b.Say(fmt.Sprintf(format, args...)) }

// Write stores the report as JSON and prints it as a table.
func Write(r Report, file string, out io.Writer) error {
	if err := r.save(file); err != nil {
		return err
	}
	return r.Print(out)
}
