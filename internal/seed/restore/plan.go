package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Ports is what main gives the flow.
type Ports struct {
	host.Node
	Commits    host.Commits
	Archives   host.Archives
	Registries host.Registries
	Cluster    TargetCluster
	Clock      flow.Clock
	Log        *slog.Logger
	NewID      func() string
}

// maxAttempts is how often a restore is begun before it is given up.
const maxAttempts = 3

// restoration is one image on its way into the node.
type restoration struct {
	Ports
	request Request
}

// Plan lists the steps. The running cluster is not touched: everything is written into another stateroot, which boots only
// after the flip. Up to it a failure, an abort or a power cut removes what was made. The restored stateroot goes on from the
// reboot by itself, with the plan of package relocation/onsite.
func Plan(n Ports, r Request) flow.Plan {
	m := &restoration{n, r}
	// From the registry: it is tried again where that breaks off.
	fetching := func(s flow.Step) flow.Step { return s.Retrying(3, 30*time.Second) }
	return flow.Plan{
		Name: seed.FlowRestore, Commit: stateroot.StepFlip, MaxAttempts: maxAttempts,
		Steps: []flow.Step{
			// No undo: it only asks.
			{Name: seed.StepCheck, Title: "Check image and room", Do: m.checkImageAndRoom, Tries: 3, Pause: 5 * time.Second},
			// No undo: what an earlier restore left behind is of no more use, and its room is needed.
			stateroot.RemoveOthers(n.Deployments, m.isLeft),
			fetching(flow.Step{Name: seed.StepDeploy, Title: "Deploy the image's system", Do: m.deploySystem, Undo: m.removeStateroot}),
			fetching(flow.Step{Name: seed.StepUnpackVar, Title: "Unpack the cluster's state", Do: m.unpackVar, Undo: m.dropVar}),
			// The undo of the steps below is that of deploy-system: it removes the whole stateroot.
			fetching(flow.Step{Name: seed.StepUnpackEtc, Title: "Unpack the configuration", Do: m.unpackEtc}),
			{Name: seed.StepFetchEtcd, Title: "Fetch the image of the seed's etcd", Do: m.fetchEtcd},
			{Name: seed.StepFurnish, Title: "Install the identity change for the first boot", Do: m.prepareFirstBoot},
			{Name: seed.StepHand, Title: "Hand over the site configuration", Do: m.handOver},
			stateroot.Seal(m.newSealing(), n.Files, n.Deployments, n.Trees),
			// No undo: the sealed stateroot has what it needs, and a rollback needs nothing of it.
			{Name: seed.StepWipe, Title: "Wipe the secrets here", Do: m.wipeSecrets},
			stateroot.Flip(n.Deployments, r.staterootPair()),
			stateroot.Reboot(n.Power, n.Clock, "Restore of a seed image: booting stateroot "+r.New),
		},
	}
}

// isLeft says that an earlier restore left the stateroot behind: its record says that it was made from the one that runs. The way back of
// the one that runs is none.
func (m *restoration) isLeft(name string, all []host.Deployment, booted host.Deployment) bool {
	if !relocation.IsSite(name) || name == m.request.New {
		return false
	}
	if here, _, _ := operation.ReadStateroot(m.Files, booted); here.LeadsTo(name) {
		return false
	}
	if s, found, _ := operation.ReadStaterootOf(m.Files, all, name); found {
		return s.LeadsTo(booted.Stateroot)
	}
	return m.isLeftBefore(name, booted)
}

// isLeftBefore judges a stateroot without a record: an earlier version made it, or it was not finished. One that was at home, and was not
// made from the one that runs, is the way back of a change of its address, by which that was made.
func (m *restoration) isLeftBefore(name string, booted host.Deployment) bool {
	if relocation.IsSite(booted.Stateroot) {
		return true
	}
	last, err := relocation.ReadLastOf(m.Files, name)
	if err == nil && last.Outcome != relocation.OutcomeHome {
		return true
	}
	var record relocation.Record
	err = operation.ReadJSON(m.Files, host.InVar(name, relocation.RecordFile), &record)
	return err == nil && record.Factory == booted.Stateroot
}

func (m *restoration) wipeSecrets(context.Context) error {
	for _, file := range []string{seed.RestoreSiteFile, seed.RestoreAuthFile, seed.RestorePullFile} {
		if err := m.Files.Remove(file); err != nil {
			return fmt.Errorf("wipe %s: %w", file, err)
		}
	}
	return nil
}

// Kind is the restore as an operation. It holds the node until it has ended, also over a power cut.
func Kind(n Ports) operation.Kind[Request] {
	return operation.Kind[Request]{
		Name: seed.FlowRestore, RequestFile: seed.RestoreFile, Unit: seed.UnitRestore, AcrossBoots: true,
		Missing: operation.Refuse("no restore is under way"),
		WayOut: "The restored stateroot boots next: reboot the node to run its cluster, or remove it with " +
			"'lca-cli seed abort'",
		Holds: true, EndedBy: "'lca-cli seed abort'",
		ID: func(r Request) string { return r.OperationID },
		Salvage: func(id, old string) Request {
			return Request{OperationID: id, Old: old, New: relocation.StaterootName(id)}
		},
		Plan: func(r Request, _ operation.Here) flow.Plan { return Plan(n, r) },
		Conclude: func(ctx context.Context, _ Request, end error) (result, failed error) {
			return end, removeRequest(ctx, n)
		},
	}
}

// Run carries out the restore that the request file describes, from wherever an earlier run ended.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	return runOrAbort(ctx, n, with, nil, false)
}

// Abort gives up a restore, and removes what it made: before the flip of the default, where the reboot after it was given up, and
// where the restored stateroot has booted and a person has chosen the old one in the boot menu.
func Abort(ctx context.Context, n Ports, with operation.Instruments) error {
	return runOrAbort(ctx, n, with, nil, true)
}

func runOrAbort(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan, abort bool) error {
	kind, m := Kind(n), operation.Machine{Node: n.Node, Clock: n.Clock, Log: n.Log}
	kind.Wrap = wrap
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	r, found, damage, err := findRequest(ctx, kind, m, here)
	if err != nil {
		return err
	}
	if !found {
		return errors.Join(operation.Refuse("no restore is under way"), removeRequest(ctx, n))
	}
	p, err := seed.ReadProgress(n.Files, r.OperationID)
	if err != nil {
		return err
	}
	byHand, err := chosenByHand(n.Files, here, r, p.Restore)
	switch {
	case err != nil:
		return err
	case isGone(here, r, p.Restore):
		return errors.Join(operation.Refuse("stateroot %s, in which the restore of %s has ended, is removed: stateroot %s stays",
			r.New, r.Image, r.Old), removeRestored(ctx, n, r))
	case p.Restore == flow.FlowProgress{} && r.Boot != here.Boot:
		return errors.Join(operation.Refuse("the power failed before the restore of %s began: ask again", r.Image), removeRequest(ctx, n))
	case abort && (byHand || p.Restore.Committed && here.Booted.Stateroot == r.Old):
		return removeRestored(ctx, n, r)
	case byHand:
		return operation.Refuse("the restore of %s has ended in stateroot %s, but somebody chose to boot stateroot %s: reboot to run the "+
			"restored cluster, or remove it with 'lca-cli seed abort'", r.Image, r.New, r.Old)
	case damage != nil && p.Restore.Committed:
		return operation.Refuse("%w. %s", damage, kind.WayOut)
	}
	if abort || damage != nil {
		return kind.Abort(ctx, m, with, r, here)
	}
	return kind.Continue(ctx, m, with, r, here)
}

// findRequest loads the request. One that cannot be read can be given up by its journal, in the stateroot in which it was begun: a copy of
// that has its journals, too.
func findRequest(
	ctx context.Context, kind operation.Kind[Request], m operation.Machine, here operation.Here,
) (r Request, found bool, damage, err error) {
	r, found, damage, err = kind.FindToEnd(ctx, m.Intake())
	switch {
	case err != nil:
		return r, false, damage, errors.Join(damage, err)
	case damage == nil:
		return r, found, nil, nil
	}
	m.Log.Warn("the request cannot be read; what its journal shows under way is given up", "op", r.OperationID, "file", kind.RequestFile,
		"error", damage)
	return r, found && r.Old == here.Booted.Stateroot, damage, nil
}

// chosenByHand reports that the old stateroot runs though the restored one was made the default: then a person has booted
// it. To undo the restore would remove a cluster that may have worked for long.
func chosenByHand(files host.Files, here operation.Here, r Request, p flow.FlowProgress) (bool, error) {
	if !p.Begun || p.Boot == here.Boot || here.Booted.Stateroot != r.Old {
		return false, nil
	}
	next, ok := host.FirstOf(here.All, r.New)
	if !ok {
		return false, nil
	}
	journal, err := files.Read(host.InVar(r.New, operation.JournalPath(r.OperationID)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read the journal of stateroot %s: %w", r.New, err)
	}
	ran := flow.Fold(r.OperationID, flow.Salvage(journal)).Flow(relocation.FlowReconfigure).Begun
	return next.Default || p.Committed || ran, nil
}

// isGone reports that the restored stateroot is removed though it was made the default: by an interrupted leave, or by a person. To
// go on would be to boot what is not there.
func isGone(here operation.Here, r Request, p flow.FlowProgress) bool {
	_, there := host.FirstOf(here.All, r.New)
	return p.Committed && p.Boot != here.Boot && here.Booted.Stateroot == r.Old && !there
}

// removeRestored removes a restored stateroot that a person has left. The request goes last: with it an interrupted run is repeated.
func removeRestored(ctx context.Context, n Ports, r Request) error {
	if err := n.Deployments.SetDefault(ctx, r.Old); err != nil {
		return fmt.Errorf("make %s the default again: %w", r.Old, err)
	}
	if err := n.Deployments.Remove(ctx, r.New); err != nil {
		return fmt.Errorf("remove stateroot %s: %w", r.New, err)
	}
	return removeRequest(ctx, n)
}

// enableUndoUnit has systemd run the restore again at the next boot, which undoes it where it has not reached the flip.
func enableUndoUnit(ctx context.Context, n Ports) error {
	if err := n.Files.Write(path.Join(host.UnitDir, seed.UnitRestoreUndo), []byte(UndoUnit), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", seed.UnitRestoreUndo, err)
	}
	if err := n.Units.Enable(ctx, seed.UnitRestoreUndo); err != nil {
		return fmt.Errorf("enable %s: %w", seed.UnitRestoreUndo, err)
	}
	return nil
}

// removeRequest removes the request and its secrets, then the unit.
func removeRequest(ctx context.Context, n Ports) error {
	if err := n.Files.Remove(seed.RestoreDir); err != nil {
		return fmt.Errorf("remove %s: %w", seed.RestoreDir, err)
	}
	if err := n.Units.Disable(ctx, seed.UnitRestoreUndo); err != nil {
		return fmt.Errorf("disable %s: %w", seed.UnitRestoreUndo, err)
	}
	return n.Files.Remove(path.Join(host.UnitDir, seed.UnitRestoreUndo))
}

// UndoUnit is enabled while a restore is under way, and removes itself with what is left of one. The restore runs in a transient
// unit, which a power cut ends.
const UndoUnit = `[Unit]
Description=Lifecycle Agent: remove what an interrupted restore of a seed image left behind
Documentation=https://github.com/lifecycle-agent/lifecycle-agent/blob/main/docs/seed-images.md
After=dbus.service

[Service]
Type=exec
ExecStart=` + host.CLI + ` seed restore --run
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus=3
SuccessExitStatus=3
PrivateMounts=yes
UMask=0077

[Install]
WantedBy=multi-user.target
`

// CauseRequested is why a person goes back.
const CauseRequested = "a person asked for the cluster that ran before the restore"
