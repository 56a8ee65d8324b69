package change

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
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
	Units       host.Units

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
			{Name: ipconfig.StepSettle, Title: "Roll back what is unfinished", Again: true, Do: c.settle},
			stateroot.RemoveOthers(c.Deployments, c.ours).Retrying(2, 2*time.Second),
			{Name: ipconfig.StepRemoveFiles, Title: "Remove services and secrets", Again: true, Do: c.removeFiles},
		},
	}
}

// settle ends the watchdog first: it must not ask for a way back that is about to be removed.
func (c *Cleanup) settle(ctx context.Context) error {
	if err := c.Units.Stop(ctx, ipconfig.UnitInitMonitor); err != nil {
		return fmt.Errorf("stop %s: %w", ipconfig.UnitInitMonitor, err)
	}
	if c.Abort == nil {
		return nil
	}
	return c.Abort(ctx)
}

// ours selects the stateroots that this product made and, from the new one, the one it was made from.
func (c *Cleanup) ours(name string, booted host.Deployment) bool {
	return name == c.Request.OldStateroot && booted.Stateroot == c.Request.NewStateroot || strings.HasPrefix(name, ipconfig.StaterootPrefix)
}

// removeFiles removes the operation's services and everything secret.
func (c *Cleanup) removeFiles(ctx context.Context) error {
	var errs []error
	for _, unit := range []string{ipconfig.UnitLastResortTimer, ipconfig.UnitLastResort, ipconfig.UnitCheckCLI,
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
	errs = append(errs, stateroot.DropBallast(c.Files), operation.Prune(c.Files, ipconfig.Kind(), c.Request.OperationID))
	return errors.Join(errs...)
}

// CleanUpBare cleans a node whose workspace holds no readable operation: it removes stateroots that this product made,
// and files that an operation may have left.
func CleanUpBare(ctx context.Context, n Ports) error {
	c := n.cleanup(ipconfig.Request{})
	c.Abort = n.workload().ReviveStopped
	for _, step := range c.Plan().Steps {
		if err := step.Do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	return nil
}
