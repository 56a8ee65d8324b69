package netpolicy

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

// perNode is how long the counts of a roll-out stand still for each node of its policy. The agent of every node watches every policy:
// a count that was written for every node that is done would reach them all each time, a million times with a thousand nodes.
const perNode = 10 * time.Millisecond

// pace bounds how often counts are written.
type pace struct {
	mu sync.Mutex
	// written is when the status of a policy was written last.
	written map[types.UID]time.Time
}

// waitForCounts tells how long from now the counts of a policy for so many nodes still stand; 0 or less is not at all.
func (p *pace) waitForCounts(policy types.UID, nodes int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, known := p.written[policy]
	if !known {
		return 0
	}
	return last.Add(time.Duration(nodes) * perNode).Sub(now)
}

func (p *pace) recordWrite(policy types.UID, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written[policy] = now
}

func (p *pace) dropPolicies(policies map[types.UID]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	keepOnly(p.written, policies)
}

// countsAlone says that a status differs from the one before in nothing but how far the roll-out is: no phase, outcome, conflict or
// failure is new. The start is news: only the pass that grants the first node knows it.
func countsAlone(before *nmstatev1.NodeNetworkConfigurationPolicy, after nmstatev1.NodeNetworkConfigurationPolicyStatus, now report) bool {
	was, ro := reportedIn(before), before.Status.Rollout
	was.unreadable = now.unreadable // no part of the status
	return ro != nil && was == now && ro.Failed == after.Rollout.Failed && ro.Aborted == after.Rollout.Aborted &&
		ro.StartTime.Equal(after.Rollout.StartTime)
}
