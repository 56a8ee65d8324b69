package ipconfig

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// milestone is the start of a phase of a stage.
type milestone struct {
	stage lcav1.IPConfigStage
	phase string
	at    time.Time
}

// historyFor brings the history up to date: it has the phases that journal and state imply, each
// ends where the next begins, and all have ended when the stage has.
func historyFor(before []lcav1.StageHistory, o observation, state ipconfig.State) []lcav1.StageHistory {
	switch state = state.WithRollback(); state {
	case ipconfig.StateIdle:
		return nil
	case ipconfig.StateNew, ipconfig.StateBlocked:
		return before
	default: // an operation
	}
	h := before
	for _, m := range milestonesOf(o, state) {
		h = addMilestone(h, m, o)
	}
	if isRest(state) {
		closeAll(h, o.now)
	}
	return h
}

// milestonesOf lists the phases that have begun, in order.
func milestonesOf(o observation, state ipconfig.State) []milestone {
	config := func(phase string, at time.Time) milestone { return milestone{lcav1.StageConfig, phase, at} }
	if state == ipconfig.StateBecomingIdle {
		return nil
	}
	list := []milestone{config(lcav1.PhasePrePivot, o.now)}
	if p := o.progress.PostPivot; p.Begun {
		list = append(list, config(lcav1.PhasePostPivot, p.Started))
	} else if state == ipconfig.StateFinishing {
		list = append(list, config(lcav1.PhasePostPivot, o.now))
	}
	switch state {
	case ipconfig.StateRollingBack, ipconfig.StateReturned, ipconfig.StateRolledBack, ipconfig.StateRollbackFailed:
	default:
		return list
	}
	left := o.now
	if o.progress.Rollback.Begun {
		left = o.progress.Rollback.Started
	}
	list = append(list, milestone{lcav1.StageRollback, lcav1.PhaseRollbackPrePivot, left})
	if o.inOld() {
		list = append(list, milestone{lcav1.StageRollback, lcav1.PhaseRollbackPostPivot, o.now})
	}
	return list
}

// isRest says that the stage has ended, with or without success. A failed rollback has not: it is retried.
func isRest(state ipconfig.State) bool {
	switch state {
	case ipconfig.StateConfigured, ipconfig.StateConfigFailed, ipconfig.StateFinishFailed, ipconfig.StateRolledBack,
		ipconfig.StateBecomingIdle:
		return true
	default: // it has not ended
	}
	return false
}

// addMilestone adds a milestone unless the history has passed it.
func addMilestone(h []lcav1.StageHistory, m milestone, o observation) []lcav1.StageHistory {
	for i := range h {
		if h[i].Stage != m.stage {
			continue
		}
		for _, p := range h[i].Phases {
			if p.Phase == m.phase {
				return h
			}
		}
	}
	at := apiTime(m.at)
	if len(h) == 0 || h[len(h)-1].Stage != m.stage {
		closeAll(h, m.at)
		h = append(h, lcav1.StageHistory{Stage: m.stage, StartTime: &at})
	}
	entry := &h[len(h)-1]
	closePhase(entry, leftAt(entry, m, o))
	entry.Phases = append(entry.Phases, lcav1.PhaseHistory{Phase: m.phase, StartTime: &at})
	return h
}

// leftAt is when the phase before a milestone ended: a phase that ends with a reboot ended with
// the last entry of its flow.
func leftAt(entry *lcav1.StageHistory, m milestone, o observation) time.Time {
	name := ipconfig.FlowPrePivot
	if entry.Stage == lcav1.StageRollback {
		name = ipconfig.FlowRollback
	}
	if last, ok := o.lastEntry(name); ok && last.Time.Before(m.at) {
		return last.Time
	}
	return m.at
}

func closePhase(entry *lcav1.StageHistory, at time.Time) {
	if n := len(entry.Phases); n > 0 && entry.Phases[n-1].CompletionTime == nil {
		t := apiTime(at)
		entry.Phases[n-1].CompletionTime = &t
	}
}

func closeAll(h []lcav1.StageHistory, at time.Time) {
	n := len(h)
	if n == 0 {
		return
	}
	closePhase(&h[n-1], at)
	if t := apiTime(at); h[n-1].CompletionTime == nil {
		h[n-1].CompletionTime = &t
	}
}

// apiTime returns a time as the API keeps it: whole seconds.
func apiTime(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
