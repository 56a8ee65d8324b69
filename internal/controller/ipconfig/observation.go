package ipconfig

import (
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// observation is everything a decision rests on. Nothing in it was changed by looking.
type observation struct {
	now time.Time

	// The cluster and its network. What could not be seen this time is kept from
	// status, and blind says why.
	topology      *cluster.TopologyError
	installConfig cluster.InstallConfig
	current       ipconfig.Current
	uplink        ipconfig.Uplink
	blind         string

	// The node.
	deployments []host.Deployment
	booted      host.Deployment
	// ours are the stateroots of this product that do not run.
	ours      []string
	bootID    string
	workspace []string
	units     map[string]host.UnitState

	// busy names who has the node's lock, if that is none of the units above.
	busy *host.Holder

	// The operation prepared on the node; nil when there is none, or none that can be read:
	// unreadable then says why.
	request    *ipconfig.Request
	unreadable string

	progress ipconfig.Progress
	// foretold is what pre-pivot found recert is going to rewrite; nil where it has not.
	foretold *ipconfig.Counts
	entries  []flow.Entry
	evidence []string
	// returnUntil is when certificates of the old stateroot begin to expire; zero where
	// that is not known or was reported before.
	returnUntil time.Time
}

// inNew says that the node runs the stateroot the operation made.
func (o observation) inNew() bool {
	return o.request != nil && o.booted.Stateroot == o.request.NewStateroot
}

// inOld says that the node runs the stateroot the operation started from.
func (o observation) inOld() bool {
	return o.request != nil && o.booted.Stateroot == o.request.OldStateroot
}

// canReturn says that the old stateroot of the operation is still there to boot.
func (o observation) canReturn() bool {
	if !o.inNew() {
		return false
	}
	_, ok := host.FirstOf(o.deployments, o.request.OldStateroot)
	return ok
}

// cameBack says that the node runs the old stateroot after it had been told to leave it.
func (o observation) cameBack() bool {
	if !o.inOld() || !o.progress.PrePivot.Committed && !o.progress.Rollback.Begun {
		return false
	}
	last, ok := o.last(ipconfig.FlowPrePivot)
	return o.progress.Rollback.Begun || ok && last.Boot != o.bootID
}

// last is the flow's last entry in the journal.
func (o observation) last(name string) (flow.Entry, bool) {
	for _, e := range slices.Backward(o.entries) {
		if e.Flow == name && e.Kind != flow.KindNote {
			return e, true
		}
	}
	return flow.Entry{}, false
}

// leftovers says, in words, what a cleanup would have to remove; empty is nothing.
func (o observation) leftovers() []string {
	found := slices.Clone(o.ours)
	if o.canReturn() {
		found = append(found, o.request.OldStateroot)
	}
	if len(o.workspace) > 0 {
		found = append(found, host.Workspace)
	}
	return found
}
