package ipconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// holderFlow is the first word of whoever works on an IP change.
const holderFlow = "ip-config"

// Standing says whether an IP change of this node is unfinished: from the first step of pre-pivot, over the reboot, until the
// agent has seen the cluster healthy on the new network, or the node is back. The journal is the witness.
func Standing(n Node) host.Standing {
	return host.Standing{Flow: holderFlow, Unfinished: func(ctx context.Context) (host.Holder, bool, error) {
		return unfinished(ctx, n)
	}}
}

func unfinished(ctx context.Context, n Node) (host.Holder, bool, error) {
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return host.Holder{}, false, fmt.Errorf("list deployments: %w", err)
	}
	r, _, err := FindRequest(n.Files, all)
	if errors.Is(err, ErrNoRequest) || errors.Is(err, ErrBadRequest) {
		return host.Holder{}, false, nil // nobody could go on with it
	}
	if err != nil {
		return host.Holder{}, false, err
	}
	boot, err := n.Power.BootID(ctx)
	if err != nil {
		return host.Holder{}, false, fmt.Errorf("read the boot id: %w", err)
	}
	entries, err := ReadEntries(n.Files, r.OperationID)
	if err != nil {
		return host.Holder{}, false, err
	}
	s := standing{request: r, progress: Project(r.OperationID, entries), entries: entries, deployments: all, boot: boot,
		armed: enabled(n.Files, host.UnitInitMonitor)}
	phase, since := s.phase()
	h := host.Holder{Operation: holderFlow + " " + r.OperationID, Phase: phase, Boot: boot, Since: since}
	return h, phase != "", nil
}

// enabled says whether the running system starts the unit at boot.
func enabled(files host.Files, unit string) bool {
	_, err := files.Stat(path.Join(host.UnitDir, "multi-user.target.wants", unit))
	return err == nil
}

// standing is all that an operation's phase is told by.
type standing struct {
	request     Request
	progress    Progress
	entries     []flow.Entry
	deployments []host.Deployment
	boot        string
	// armed: the watchdog has not been disarmed, which the agent does when the change is proved.
	armed bool
}

// phase says how far the operation is; empty when it has ended, or can never end because its stateroot has gone.
func (s standing) phase() (phase string, since time.Time) {
	booted, err := host.Booted(s.deployments)
	p := s.progress
	switch {
	case err != nil:
		return "", time.Time{}
	case p.Cleanup.Running():
		return at(FlowCleanup, p.Cleanup)
	case booted.Stateroot == s.request.OldStateroot:
		return s.preparing()
	case booted.Stateroot != s.request.NewStateroot:
		return "", time.Time{}
	case p.Rollback.Running():
		return at(FlowRollback, p.Rollback)
	case !p.PostPivot.Finished:
		phase, since = at(FlowPostPivot, p.PostPivot)
		return phase, cmp.Or(since, p.PrePivot.Started)
	case s.armed:
		return "the cluster is not proved healthy yet", p.PostPivot.Ended
	}
	return "", time.Time{}
}

// preparing is the phase in the old stateroot. Once the node has come back there the operation is over.
func (s standing) preparing() (phase string, since time.Time) {
	p := s.progress
	switch {
	case p.Rollback.Begun, s.gone():
		return "", time.Time{}
	case p.PrePivot.Committed && s.lastBoot() != s.boot:
		return "", time.Time{}
	case p.PrePivot.Committed:
		return "the reboot into stateroot " + s.request.NewStateroot + " is under way", p.PrePivot.Started
	case p.PrePivot.Running():
		return at(FlowPrePivot, p.PrePivot)
	}
	return "", time.Time{}
}

// lastBoot is the boot in which pre-pivot was worked on last.
func (s standing) lastBoot() (boot string) {
	for _, e := range s.entries {
		if e.Flow == FlowPrePivot && e.Kind != flow.KindNote {
			boot = e.Boot
		}
	}
	return boot
}

// gone says that the stateroot was made and is there no more, though nobody took it back.
func (s standing) gone() bool {
	made := false
	for _, e := range s.entries {
		if e.Flow == FlowPrePivot && e.Step == StepClone {
			made = e.Kind == flow.KindDone || e.Kind == flow.KindSkipped
		}
	}
	_, there := host.FirstOf(s.deployments, s.request.NewStateroot)
	return made && !there
}

// at names a flow with its step.
func at(name string, f FlowProgress) (phase string, since time.Time) {
	if f.Total > 0 {
		return fmt.Sprintf("%s, step %d of %d", name, f.Index, f.Total), f.Started
	}
	return name, f.Started
}
