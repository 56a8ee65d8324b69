package factory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Again lists the steps by which a node that has come back to the factory state makes another stateroot for a
// configuration that was delivered. The cluster does not run. It ends in the reboot into that stateroot, where the same
// operation continues. A power cut before the seal undoes it: what was copied is not on the disk for certain.
func Again(n Ports, r relocation.Request) flow.Plan {
	m := n.newSiteBuild(r.OperationID, r.Pair())
	return flow.Plan{
		Name: relocation.FlowAgain, Commit: stateroot.StepFlip, MaxAttempts: 3,
		Steps: []flow.Step{
			// No undo: what failed on site is of no more use, and its room is needed.
			stateroot.RemoveOthers(n.Deployments, func(name string, _ []host.Deployment, _ host.Deployment) bool {
				return relocation.IsSite(name) && name != r.Site
			}),
			{Name: relocation.StepCheck, Title: "Check that there is room", Do: m.checkPreconditions},
			stateroot.Clone(n.Deployments, r.Site),
			stateroot.CopyLive(m.siteMirror()),
			stateroot.CopyFinal(m.siteMirror(), n.Deployments),
			{Name: relocation.StepFurnish, Title: "Configure the new stateroot to wait for its site", Do: m.configureToWait},
			{Name: relocation.StepHand, Title: "Hand over the configuration", Do: m.handOverConfig},
			stateroot.Seal(m.siteSealing(), n.Files, n.Deployments, n.Trees),
			stateroot.Flip(n.Deployments, m.pair),
			stateroot.Reboot(n.Power, n.Clock, "Relocation: booting stateroot "+r.Site),
		},
	}
}

// handOverConfig gives the new stateroot request, configuration and journal.
func (m siteBuild) handOverConfig(context.Context) error {
	for _, file := range []string{relocation.RequestFile, relocation.SiteConfigFile, relocation.LastFile} {
		data, err := m.Files.Read(file)
		if errors.Is(err, fs.ErrNotExist) && file == relocation.LastFile {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if err := m.Files.Write(host.InVar(m.pair.New, file), data, 0o600); err != nil {
			return fmt.Errorf("hand %s to stateroot %s: %w", file, m.pair.New, err)
		}
	}
	return stateroot.HandJournal(m.Files, m.operation, m.pair.New)
}
