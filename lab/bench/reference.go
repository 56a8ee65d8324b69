package bench

import (
	"context"
	_ "embed" // the scripts that run in the node
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

//go:embed reference.sh
var referenceScript []byte

//go:embed stash.sh
var stashScript string

//go:embed keep.sh
var keepScript string

const (
	// stepsFile is where reference.sh leaves its times, in the stateroot it ran in.
	stepsFile = "/var/lib/bench-reference/steps"
	// dataDir is where fill.sh put the data.
	dataDir = "/var/lib/bench-data"
	// referenceStop is the step that stops the cluster, and the first one.
	referenceStop = "stop-cluster"
)

// prepareReference keeps what the change to the stateroot prepared, and puts the script in
// the place of lca-cli's pre-pivot.
func (s *subject) prepareReference(ctx context.Context, stateroot string) error {
	return s.run(ctx, []string{"bash", "-c", stashScript, "stash.sh", stateroot}, referenceScript)
}

// keepKeys waits in the node for the keys that the next change collects, and copies them.
func (s *subject) keepKeys(ctx context.Context) error {
	return s.run(ctx, []string{"systemd-run", "--quiet", "--collect", "--unit=bench-keep", "bash", "-c", keepScript}, nil)
}

// reference measures the same change in the reference's order.
func (s *subject) reference(ctx context.Context, n *Node) error {
	s.say("the same change in the order of the reference")
	asked, err := s.change(ctx, &n.Reference)
	if err != nil {
		return fmt.Errorf("change in the order of the reference: %w", err)
	}
	account, err := s.driver.Journal(ctx)
	if err != nil {
		return err
	}
	for _, step := range account.Steps {
		if step.Flow == prePivot {
			return errors.New("lca-cli prepared the stateroot, not the script")
		}
	}
	n.Reference.After = finishing(account.Steps)
	log, err := s.output(ctx, "cat", "/ostree/deploy/"+s.stateroot+stepsFile)
	if err != nil {
		return err
	}
	if err := n.Reference.fromLog(asked, log); err != nil {
		return err
	}
	return s.compare(ctx)
}

// fromLog fills in what reference.sh wrote of its steps: lines of NAME START END.
func (c *Change) fromLog(asked time.Time, log string) error {
	var stopped, rebooted time.Time
	for line := range strings.Lines(log) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return fmt.Errorf("steps of the reference: line %q", line)
		}
		start, err := moment(fields[1])
		if err != nil {
			return err
		}
		end, err := moment(fields[2])
		if err != nil {
			return err
		}
		if fields[0] == referenceStop {
			stopped = start
		}
		rebooted = end
		c.Before = append(c.Before, Step{Name: fields[0], Seconds: end.Sub(start).Seconds(), Down: !stopped.IsZero()})
	}
	return c.reached(asked, stopped, rebooted)
}

// compare makes sure that the data arrived whole in the new stateroot.
func (s *subject) compare(ctx context.Context) error {
	result, err := s.lab.Machine.Exec(ctx, machine.Command{Argv: []string{"bash", "-c",
		`[ ! -e "$1" ] && [ ! -e "$2" ] || diff -rq "$1" "$2"`, "compare", dataDir, "/ostree/deploy/" + s.stateroot + dataDir}})
	if err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("the copy differs from the original: %s", result.Stdout+result.Stderr)
	}
	return nil
}
