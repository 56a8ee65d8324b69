package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Cleanup ends an operation on the user's word: what is not booted goes, and with
// it the way back.
type Cleanup struct {
	Node    Node
	Request Request
	// Abort takes back a pre-pivot that was begun and never got to its commit point.
	Abort func(context.Context) error
}

// Plan is cleanup read aloud. Nothing of it can be taken back, which is why it
// runs only when the user asks for Idle.
func (c *Cleanup) Plan() flow.Plan {
	return flow.Plan{
		Name: FlowCleanup, Commit: flow.FromStart, AcrossBoots: true,
		Urgent: true, // it is what makes room on a full disk
		Steps: []flow.Step{
			{Name: StepSettle, Title: "Take back what is unfinished", Check: never, Do: c.settle},
			{Name: StepRemoveOthers, Title: "Remove the other stateroot", Check: never, Do: c.removeOthers,
				Tries: 2, Pause: 2 * time.Second},
			{Name: StepRemoveFiles, Title: "Remove services and secrets", Check: never, Do: c.removeFiles},
		},
	}
}

// settle ends the watchdog first: it must not ask for a way back that is about to go.
func (c *Cleanup) settle(ctx context.Context) error {
	if err := c.Node.Units.Stop(ctx, host.UnitInitMonitor); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitInitMonitor, err)
	}
	if c.Abort == nil {
		return nil
	}
	return c.Abort(ctx)
}

// removeOthers deletes the stateroots that this product made and, from the new one, the one it was made
// from; but never the booted one, and none that somebody else made.
func (c *Cleanup) removeOthers(ctx context.Context) error {
	all, err := c.Node.Deployments.List(ctx)
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return err
	}
	if !booted.Default {
		if err := c.Node.Deployments.SetDefault(ctx, booted.Stateroot); err != nil {
			return fmt.Errorf("make the booted stateroot %s the default: %w", booted.Stateroot, err)
		}
	}
	names, err := c.Node.Deployments.Stateroots(ctx)
	if err != nil {
		return fmt.Errorf("list stateroots: %w", err)
	}
	for _, name := range names {
		ours := name == c.Request.OldStateroot && booted.Stateroot == c.Request.NewStateroot || strings.HasPrefix(name, StaterootPrefix)
		if name == booted.Stateroot || !ours {
			continue
		}
		if err := c.Node.Deployments.Remove(ctx, name); err != nil {
			return fmt.Errorf("remove stateroot %s: %w", name, err)
		}
	}
	return nil
}

// removeFiles takes away the operation's services and everything secret.
func (c *Cleanup) removeFiles(ctx context.Context) error {
	var errs []error
	for _, unit := range []string{host.UnitInitMonitor, host.UnitIPConfiguration} {
		file := path.Join(host.UnitDir, unit)
		if _, err := c.Node.Files.Stat(file); err != nil {
			continue
		}
		errs = append(errs, c.Node.Units.Stop(ctx, unit), c.Node.Units.Disable(ctx, unit), c.Node.Files.Remove(file))
	}
	errs = append(errs, c.Node.Files.Remove(host.Workspace), c.Node.Files.Remove(host.SavedIPConfig), c.forgetOldJournals())
	return errors.Join(errs...)
}

// keptJournals is how many operations stay on record.
const keptJournals = 10

// forgetOldJournals drops the journals and bundles of the oldest operations; their names sort by time.
func (c *Cleanup) forgetOldJournals() error {
	names, err := c.Node.Files.List(host.JournalDir)
	if err != nil {
		return err
	}
	var ops []string
	for _, n := range names {
		op, _, _ := strings.Cut(n, ".")
		if !slices.Contains(ops, op) {
			ops = append(ops, op)
		}
	}
	var errs []error
	for _, op := range ops[:max(len(ops)-keptJournals, 0)] {
		errs = append(errs, c.Node.Files.Remove(JournalPath(op)), c.Node.Files.Remove(PivotedJournalPath(op)),
			c.Node.Files.Remove(EvidencePath(op)))
	}
	return errors.Join(errs...)
}
