package soak

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// nameSteps fills in which step was under way at each cut, by the journals of all stateroots; they are gone once the node is Idle.
func (n *node) nameSteps(ctx context.Context, cuts []Cut) {
	text, err := machine.Output(ctx, n.lab.Machine, "sh", "-c", "cat /sysroot/ostree/deploy/*/var/lib/lca/journal/*.jsonl")
	var on time.Time // when the power came back last; before the first cut it was on
	for i := range cuts {
		cuts[i].Step = "not in a journal any more"
		if err == nil {
			cuts[i].Step = lastBefore(text, on, cuts[i].At)
		}
		on = cuts[i].At
	}
}

// lastBefore is what the journals have last before the moment; it says so where that was before the power came on.
func lastBefore(journals string, on, moment time.Time) string {
	var last struct {
		Time             time.Time
		Flow, Step, Kind string
	}
	for line := range strings.Lines(journals) {
		entry := last
		entry.Step = ""
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Time.After(moment) || entry.Time.Before(last.Time) {
			continue
		}
		last = entry
	}
	if last.Time.IsZero() {
		return "before the first step"
	}
	step := strings.Join(strings.Fields(last.Flow+" "+last.Step+" "+last.Kind), " ")
	if last.Time.Before(on) {
		return "booting, after " + step
	}
	return step
}
