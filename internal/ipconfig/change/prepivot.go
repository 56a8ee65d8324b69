package change

import (
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// maxAttemptsPrePivot is how often pre-pivot is begun before it is rolled back.
const maxAttemptsPrePivot = 3

// PrePivot prepares the new stateroot while the old one runs, and reboots into it.
type PrePivot struct {
	Files       host.Files
	Trees       host.Trees
	Deployments host.Deployments
	OneTimeBoot host.OneTimeBoot
	Workload    stateroot.Workload
	Foreign     host.ForeignUnits
	Network     host.Network
	Planner     host.NetworkPlanner
	Switch      host.Switch
	Resolver    host.Resolver
	Power       host.Power
	Recert      bringup.Recert
	Cluster     Cluster
	// Forecaster counts ahead what recert will rewrite; nil leaves that unknown.
	Forecaster Forecaster
	Clock      flow.Clock
	Log        *slog.Logger

	Request ipconfig.Request
	Auto    ipconfig.AutoRollback
	// Note journals a fact with a deadline.
	Note func(flow, message string, deadline time.Time) error
}

// Plan lists the steps of pre-pivot. Nothing of the old system is changed for good before flip-default; a power cut up to
// there boots the old system unchanged. Steps between copy-final and arm-watchdog need no undo: the new stateroot that
// they write to is removed whole.
func (p *PrePivot) Plan() flow.Plan {
	return flow.Plan{
		Name: ipconfig.FlowPrePivot, Commit: ipconfig.StepFlip, MaxAttempts: maxAttemptsPrePivot,
		Steps: []flow.Step{
			{Name: ipconfig.StepCollect, Title: "Collect what the cluster knows", Do: p.collectInputs, Undo: p.removeInputs,
				Tries: 3, Pause: 5 * time.Second},
			// No undo: one more image on the node does no harm, and the next attempt needs it.
			{Name: ipconfig.StepFetchImage, Title: "Fetch the image that recert runs in, if there is one", Do: p.fetchImage,
				Tries: 3, Pause: 5 * time.Second},
			p.oneTime().Prepare(),
			stateroot.CloneWith(p.Deployments, p.Request.NewStateroot, p.moveKernelArguments),
			stateroot.CopyLive(p.newMirror()),
			stateroot.Quiesce(p.Workload),
			// Kubelet, which has stopped, may have removed an image that no container uses.
			stateroot.CopyFinal(p.newMirror(), p.Deployments).Before(p.fetchImage),
			{Name: ipconfig.StepFurnish, Title: "Furnish the new stateroot", Do: p.configureStateroot},
			{Name: ipconfig.StepUnits, Title: "Install the services of the new stateroot", Do: p.installUnits},
			{Name: ipconfig.StepArm, Title: "Arm the watchdog", Do: p.armWatchdog, Undo: p.dropBallast},
			stateroot.Seal(p.newSealing(), p.Files, p.Deployments, p.Trees),
			// From here on the new stateroot alone has the secrets; undoing the others wipes them there too.
			{Name: ipconfig.StepWipe, Title: "Wipe the secrets here", Do: p.wipeWorkspace},
			p.oneTime().Flip(p.stateroots()),
			stateroot.Reboot(p.Power, p.Clock, "IP Config: booting stateroot "+p.Request.NewStateroot),
		},
	}
}

// oneTime has the new stateroot boot once, where nothing forbids the node to come back by itself.
func (p *PrePivot) oneTime() stateroot.OneTime {
	return stateroot.OneTime{
		Deployments: p.Deployments, Once: p.OneTimeBoot, Wanted: p.Auto.RunEnabled() && p.wantsLastResort(),
		Note: func(once bool, why string) error {
			message := ipconfig.NoteBootsOnce
			if !once {
				message = ipconfig.NoteBootsAgain + why
			}
			return p.Note(ipconfig.FlowPrePivot, message, time.Time{})
		},
	}
}

func (p *PrePivot) stateroots() stateroot.Pair { return p.Request.Pair() }

func (p *PrePivot) newMirror() stateroot.Mirror {
	return stateroot.Mirror{
		Trees: p.Trees, Files: p.Files, Log: p.Log, Pair: p.stateroots(),
		Skip: []string{"lib/lca/evidence", "lib/lca/ipc.json", "lib/lca/rehearsal"},
	}
}

// newSealing lists what must be whole in the new stateroot.
func (p *PrePivot) newSealing() stateroot.Sealing {
	return stateroot.Sealing{
		Operation: p.Request.OperationID, Pair: p.stateroots(), MadeBy: ipconfig.MadeBy, Clock: p.Clock,
		Contents: p.sealedFiles,
	}
}
