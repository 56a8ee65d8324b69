package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// LockName is the first word of the lock's holder while an IP change runs.
const LockName = "ip-config"

// Reservation reports whether an IP change of this node is unfinished: from the first step of pre-pivot, over the reboot,
// until the agent has seen the cluster healthy on the new network, or the node is back. The journal decides.
func Reservation(n Ports) host.Reservation {
	return host.Reservation{Flow: LockName, Unfinished: func(ctx context.Context) (host.Holder, bool, error) {
		return findUnfinished(ctx, n)
	}}
}

func findUnfinished(ctx context.Context, n Ports) (host.Holder, bool, error) {
	here, err := operation.LocateAny(ctx, n.Files, n.Deployments, n.Power)
	if err != nil {
		return host.Holder{}, false, fmt.Errorf("look for an unfinished IP change: %w", err)
	}
	r, _, err := ipconfig.FindRequest(n.Files, here.All)
	if errors.Is(err, ipconfig.ErrNoRequest) || errors.Is(err, ipconfig.ErrBadRequest) {
		return host.Holder{}, false, nil // no program could continue it
	}
	if err != nil {
		return host.Holder{}, false, fmt.Errorf("look for an unfinished IP change: %w", err)
	}
	entries, err := operation.ReadEntries(n.Files, r.OperationID)
	if err != nil {
		return host.Holder{}, false, fmt.Errorf("look for an unfinished IP change: %w", err)
	}
	record, _, _ := operation.ReadStateroot(n.Files, here.Booted)
	if record.Operation != r.OperationID {
		record = operation.Stateroot{}
	}
	s := unfinishedChange{request: r, record: record, progress: ipconfig.Project(flow.Fold(r.OperationID, entries)), entries: entries,
		here: here, waits: isUnitEnabled(n.Files, ipconfig.UnitInitMonitor)}
	if h, found, err := ipconfig.ReadHealth(n.Files, r.OperationID); err == nil && found {
		s.waits = !h.Healthy
	}
	phase, since := s.currentPhase()
	h := host.Holder{Operation: LockName + " " + r.OperationID, Phase: phase, Boot: here.Boot, Since: since}
	return h, phase != "", nil
}

// isUnitEnabled reports whether the running system starts the unit at boot.
func isUnitEnabled(files host.Files, unit string) bool {
	_, err := files.Stat(path.Join(host.UnitDir, "multi-user.target.wants", unit))
	return err == nil
}

// unfinishedChange is everything that an operation's phase is derived from.
type unfinishedChange struct {
	request  ipconfig.Request
	progress ipconfig.Progress
	entries  []flow.Entry
	here     operation.Here
	// record is that of the stateroot that runs; zero where it says nothing of this operation.
	record operation.Stateroot
	// waits: the agent has not seen the cluster healthy. An operation without a record of that has a watchdog for as long.
	waits bool
}

// currentPhase is how far the operation is; empty when it has ended, or can never end because its stateroot is gone.
func (s unfinishedChange) currentPhase() (phase string, since time.Time) {
	p, booted := s.progress, s.here.Booted
	switch {
	case p.Cleanup.Running():
		return operation.Phase(ipconfig.FlowCleanup, p.Cleanup)
	case booted.Stateroot == s.request.OldStateroot:
		return s.prePivotPhase()
	case booted.Stateroot != s.request.NewStateroot:
		return "", time.Time{}
	case p.Rollback.Running():
		return operation.Phase(ipconfig.FlowRollback, p.Rollback)
	case !s.record.Confirmed.IsZero():
		return "", time.Time{}
	case !p.PostPivot.Finished && s.hasBegun():
		phase, since = operation.Phase(ipconfig.FlowPostPivot, p.PostPivot)
		return phase, cmp.Or(since, p.PrePivot.Started, s.record.Made)
	case s.waits:
		return "the cluster is not proved healthy yet", p.PostPivot.Ended
	}
	return "", time.Time{}
}

// hasBegun says that a record has the change begun. A journal that is missing says nothing.
func (s unfinishedChange) hasBegun() bool {
	return s.progress.PrePivot.Begun || s.progress.PostPivot.Begun || s.record.WayBack != nil
}

// prePivotPhase is the phase in the old stateroot. Once the node has come back there the operation is over.
func (s unfinishedChange) prePivotPhase() (phase string, since time.Time) {
	p := s.progress
	switch {
	case p.Rollback.Begun, s.isStaterootMissing():
		return "", time.Time{}
	case p.PrePivot.Committed && p.PrePivot.Boot != s.here.Boot:
		return "", time.Time{}
	case p.PrePivot.Committed:
		return "the reboot into stateroot " + s.request.NewStateroot + " is under way", p.PrePivot.Started
	case p.PrePivot.Running():
		return operation.Phase(ipconfig.FlowPrePivot, p.PrePivot)
	}
	return "", time.Time{}
}

// isStaterootMissing reports that the stateroot was made and is missing, though no undo removed it.
func (s unfinishedChange) isStaterootMissing() bool {
	made := false
	for _, e := range s.entries {
		if e.Flow == ipconfig.FlowPrePivot && e.Step == ipconfig.StepClone {
			made = e.Kind == flow.KindDone || e.Kind == flow.KindSkipped
		}
	}
	_, there := host.FirstOf(s.here.All, s.request.NewStateroot)
	return made && !there
}
