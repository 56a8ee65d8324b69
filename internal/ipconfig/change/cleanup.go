package change

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Cleanup ends an operation on the user's request: it removes what is not booted, and with it the way back.
type Cleanup struct {
	Files       host.Files
	Deployments host.Deployments
	OneTimeBoot host.OneTimeBoot
	Units       host.Units
	Clock       flow.Clock

	Request ipconfig.Request
	// Abort rolls back a pre-pivot that was begun and never reached its commit point; nil where there is none.
	Abort func(context.Context) error
}

// Plan lists the steps of a cleanup. None has an undo, which is why it runs only when the user asks for Idle.
func (c *Cleanup) Plan() flow.Plan {
	return flow.Plan{
		Name: ipconfig.FlowCleanup, Commit: flow.FromStart, AcrossBoots: true,
		Urgent: true, // it is what makes room on a full disk
		Steps: []flow.Step{
			{Name: ipconfig.StepSettle, Title: "Roll back what is unfinished", Again: true, Do: c.stopUnfinished},
			stateroot.RemoveOthers(tolerant{c.Deployments, c.Files}, c.isOwnStateroot).Before(c.clearBoot).Retrying(2, 2*time.Second),
			{Name: ipconfig.StepRemoveFiles, Title: "Remove services and secrets", Again: true, Do: c.removeFiles},
		},
	}
}

// clearBoot comes before entries of the boot menu change: one that was to boot once, and did not, must not boot later.
func (c *Cleanup) clearBoot(ctx context.Context) error { return c.OneTimeBoot.Uninstall(ctx) }

// stopUnfinished ends the watchdog first: it must not ask for a way back that is about to be removed.
func (c *Cleanup) stopUnfinished(ctx context.Context) error {
	if err := c.Units.Stop(ctx, ipconfig.UnitInitMonitor); err != nil {
		return fmt.Errorf("stop %s: %w", ipconfig.UnitInitMonitor, err)
	}
	if c.Abort == nil {
		return nil
	}
	return c.Abort(ctx)
}

// isOwnStateroot selects the two stateroots of the operation, and what earlier ones have left of this one.
func (c *Cleanup) isOwnStateroot(name string, all []host.Deployment, booted host.Deployment) bool {
	r := c.Request
	switch name {
	case r.OldStateroot:
		return booted.Stateroot == r.NewStateroot
	case r.NewStateroot:
		return booted.Stateroot == r.OldStateroot
	}
	remains, _ := ipconfig.ReadRemains(c.Files) // what cannot be read is left alone
	_, left := remains[name]
	if _, deployed := host.FirstOf(all, name); left && !deployed {
		return true
	}
	return ipconfig.Leftover(c.Files, all, booted, name)
}

// recordEnd records that the running stateroot is at rest, before anything that says so otherwise is removed.
func (c *Cleanup) recordEnd(ctx context.Context) error {
	all, err := c.Deployments.List(ctx)
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return fmt.Errorf("find the booted deployment: %w", err)
	}
	s, found, _ := operation.ReadStateroot(c.Files, booted)
	if booted.Stateroot != c.Request.NewStateroot && (!found || s.MadeBy != ipconfig.MadeBy) {
		return nil
	}
	now := c.Clock.Now()
	return operation.End(c.Files, booted, c.Request.Made(nil, now), now)
}

// removeFiles removes the operation's services and everything secret.
func (c *Cleanup) removeFiles(ctx context.Context) error {
	if err := c.recordEnd(ctx); err != nil {
		return err
	}
	var errs []error
	for _, unit := range []string{ipconfig.UnitLastResortTimer, ipconfig.UnitLastResort, ipconfig.UnitCheckCLI, ipconfig.UnitEmergency,
		ipconfig.UnitInitMonitor, ipconfig.UnitIPConfiguration} {
		file := path.Join(host.UnitDir, unit)
		if _, err := c.Files.Stat(file); err != nil {
			continue
		}
		errs = append(errs, c.Units.Stop(ctx, unit), c.Units.Disable(ctx, unit), c.Files.Remove(file))
	}
	for _, file := range []string{host.Workspace, ipconfig.SavedObjectFile,
		ipconfig.LastResortScript, ipconfig.CLIChecksum, ipconfig.LastResortLog} {
		errs = append(errs, c.Files.Remove(file))
	}
	errs = append(errs, stateroot.DropBallast(c.Files), operation.Prune(c.Files, ipconfig.Flows(), c.Request.OperationID))
	return errors.Join(errs...)
}

// CleanUpBare cleans a node whose workspace holds no readable operation: it removes stateroots that this product made,
// and files that an operation may have left.
func CleanUpBare(ctx context.Context, n Ports) error {
	c := n.newCleanup(ipconfig.Request{})
	c.Abort = n.newWorkload().ReviveStopped
	for _, step := range c.Plan().Steps {
		if err := step.Do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	return nil
}
