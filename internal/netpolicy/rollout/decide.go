package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// Policy is what a policy says of its roll-out.
type Policy struct {
	Generation     int64
	MaxUnavailable *intstr.IntOrString
	Canary         *nmstatev1.Canary
	Soak           time.Duration
	PauseOnFailure bool

	// Manual roll-outs start when they are Approved.
	Manual, Approved bool
	// Resumed is set when a person lets the roll-out continue after a failure.
	Resumed bool
	// Paused is set when a person stopped it.
	Paused bool
	// Reverting is set for a policy that is being deleted.
	Reverting bool
	// Standby says why nothing may be granted in this cluster, for instance because another agent is at work.
	Standby string
}

// Decision is what to do now.
type Decision struct {
	// Grant lets these nodes start.
	Grant []string
	// Adopt grants nodes that have the configuration already.
	Adopt []string
	// Abort are nodes that never start in this generation.
	Abort []string
	// Phase and Message say what the roll-out waits for.
	Phase   nmstatev1.RolloutPhase
	Message string
	// Counts of the nodes, before what is decided here.
	Counts Counts
	// Wake is when to decide again although nothing changes; zero means never.
	Wake time.Time
}

// Counts of the nodes of a policy.
type Counts struct {
	Nodes, Ready, Available, Failed, Aborted, Pending, Started, NotReady int
	// Finished are those of Available, Failed and Aborted.
	Finished int
	// MaxUnavailable in nodes.
	MaxUnavailable int
	// Refused counts nodes that can have no enactment, and Refusal says why the first of them cannot.
	Refused int
	Refusal string
}

// Decide says which nodes may start. It looks at the nodes' states alone, so that no count can be lost or leak.
func Decide(p Policy, nodes []Node, now time.Time) Decision {
	d := Decision{Counts: countNodes(p, nodes), Adopt: adoptedNodes(p, nodes)}
	canaries, rest := splitCanaries(p.Canary, nodes)
	limit := d.Counts.MaxUnavailable
	switch {
	case p.Standby != "":
		d.Adopt, d.Phase, d.Message = nil, nmstatev1.PhaseStandby, p.Standby
	case d.Counts.Nodes == 0 || isDone(nodes):
		d.Phase = nmstatev1.PhaseDone
	case p.Paused:
		d.Phase, d.Message = nmstatev1.PhasePaused, "paused by annotation "+nmstatev1.PausedAnnotation+"; remove it to continue"
	case p.PauseOnFailure && !p.Resumed && d.Counts.Failed > 0:
		d.Phase = nmstatev1.PhasePaused
		d.Message = fmt.Sprintf(
			"paused because of %s; to continue, set annotation %s to %d",
			describeFailures(nodes),
			nmstatev1.ResumedAnnotation,
			p.Generation,
		)
	case d.Counts.Failed >= limit, anyFailed(canaries) && !p.Resumed, d.Counts.Aborted > 0:
		d.Phase, d.Abort = nmstatev1.PhaseAborted, waitingNodes(nodes)
		d.Message = "stopped because of " + describeFailures(nodes) + "; correct the policy"
	case p.Manual && !p.Approved && !p.Reverting:
		d.Phase = nmstatev1.PhaseAwaitingApproval
		d.Message = fmt.Sprintf("%d of %d nodes have published their plan; to approve, set annotation %s to %d",
			d.Counts.Pending+d.Counts.Available, d.Counts.Nodes, nmstatev1.ApprovedAnnotation, p.Generation)
	case p.Reverting:
		d.Phase, d.Grant = nmstatev1.PhaseReverting, chooseNodes(nodes, nodes, limit)
	case p.Canary != nil:
		d.decideCanary(p, canaries, rest, now)
	default:
		d.Phase, d.Grant = nmstatev1.PhaseRolling, chooseNodes(nodes, nodes, limit)
	}
	return d
}

// decideCanary rolls out to the canaries, waits, and then to the rest.
func (d *Decision) decideCanary(p Policy, canaries, rest []Node, now time.Time) {
	all := slices.Concat(canaries, rest)
	since, configured := provenSince(canaries, p.Resumed)
	unready := slices.IndexFunc(canaries, func(n Node) bool { return n.State == condition.Available && !n.Ready })
	switch until := since.Add(p.Soak); {
	case len(canaries) == 0:
		d.Phase, d.Message = nmstatev1.PhasePaused, "the canary selector selects none of the policy's nodes; correct spec.rollout.canary"
	case !configured:
		d.Phase, d.Message = nmstatev1.PhaseCanary, "canaries: "+listNames(canaries)
		d.Grant = chooseNodes(all, canaries, d.Counts.MaxUnavailable)
	case unready >= 0 && !anyStarted(rest):
		d.Phase, d.Message = nmstatev1.PhasePaused, "canary "+canaries[unready].Name+" is configured but not ready"
	case now.Before(until) && !anyStarted(rest):
		d.Phase, d.Message = nmstatev1.PhaseSoaking, "canaries are configured; other nodes start at "+until.UTC().Format(time.RFC3339)
		d.Wake = until
	default:
		d.Phase, d.Grant = nmstatev1.PhaseRolling, chooseNodes(all, all, d.Counts.MaxUnavailable)
	}
}

// chooseNodes picks the nodes to start, as far as those of all that hold capacity leave some. Nodes that are not ready would use it up
// without finishing; they start only where no node is ready, as when a cluster gets its first network.
func chooseNodes(all, candidates []Node, limit int) []string {
	ready := slices.ContainsFunc(all, func(n Node) bool { return n.Ready })
	capacity := limit
	for _, n := range all {
		if n.holdsCapacity() {
			capacity--
		}
	}
	var chosen []string
	for _, n := range candidates {
		if len(chosen) < capacity && n.awaitsGrant() && !n.Unresolved && (n.Ready || !ready) {
			chosen = append(chosen, n.Name)
		}
	}
	return chosen
}

// splitCanaries tells canaries from the rest. Of a number of canaries, those come first that started, then those that are ready, so that a
// roll-out keeps its canaries.
func splitCanaries(c *nmstatev1.Canary, nodes []Node) (canaries, rest []Node) {
	if c == nil {
		return nil, nodes
	}
	if c.Count == nil {
		for _, n := range nodes {
			if n.Canary {
				canaries = append(canaries, n)
			} else {
				rest = append(rest, n)
			}
		}
		return canaries, rest
	}
	ordered := slices.Clone(nodes)
	slices.SortStableFunc(ordered, func(a, b Node) int {
		return cmp.Or(cmp.Compare(canaryRank(a), canaryRank(b)), a.Since.Compare(b.Since), strings.Compare(a.Name, b.Name))
	})
	n := min(int(*c.Count), len(ordered))
	return ordered[:n], ordered[n:]
}

func canaryRank(n Node) int {
	switch {
	case n.State == condition.Available || n.State == condition.Failed:
		return 0
	case n.hasStarted():
		return 1
	case n.Ready:
		return 2
	}
	return 3
}

// provenSince is when the last of the canaries was configured. Canaries that never started because their node is not ready are not
// waited for, unless there is no other; neither are those that failed before a person let the roll-out continue.
func provenSince(canaries []Node, resumed bool) (since time.Time, configured bool) {
	for _, n := range canaries {
		if n.State == condition.Failed && resumed {
			continue
		}
		if n.State == condition.Available {
			configured = true
			if n.Since.After(since) {
				since = n.Since
			}
		} else if n.Ready || n.hasStarted() {
			return time.Time{}, false
		}
	}
	return since, configured
}

func anyStarted(nodes []Node) bool { return slices.ContainsFunc(nodes, Node.hasStarted) }

func anyFailed(nodes []Node) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool { return n.State == condition.Failed })
}

// isDone reports that no ready node has anything left to do.
func isDone(nodes []Node) bool {
	return !slices.ContainsFunc(
		nodes,
		func(n Node) bool {
			return n.State != condition.Available && (n.Ready || n.hasStarted() || n.hasFinished())
		},
	) &&
		slices.ContainsFunc(nodes, func(n Node) bool { return n.State == condition.Available })
}

func adoptedNodes(p Policy, nodes []Node) []string {
	if p.Reverting {
		return nil
	}
	return namesWhere(nodes, func(n Node) bool { return n.State == condition.Available && !n.Granted })
}

func waitingNodes(nodes []Node) []string { return namesWhere(nodes, Node.awaitsGrant) }

func namesWhere(nodes []Node, is func(Node) bool) (names []string) {
	for _, n := range nodes {
		if is(n) {
			names = append(names, n.Name)
		}
	}
	return names
}

// describeFailures names the nodes that failed, or the first of many.
func describeFailures(nodes []Node) string {
	list := namesWhere(nodes, func(n Node) bool { return n.State == condition.Failed })
	switch len(list) {
	case 0:
		return "an earlier failure in this generation"
	case 1:
		return "a failure on node " + list[0]
	case 2, 3:
		return "failures on nodes " + strings.Join(list, ", ")
	}
	return fmt.Sprintf("failures on nodes %s and %d more", strings.Join(list[:3], ", "), len(list)-3)
}

func listNames(nodes []Node) string {
	all := namesWhere(nodes, func(Node) bool { return true })
	if len(all) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:3], ", "), len(all)-3)
	}
	return strings.Join(all, ", ")
}

func countNodes(p Policy, nodes []Node) Counts {
	c := Counts{Nodes: len(nodes), MaxUnavailable: MaxUnavailable(p.MaxUnavailable, len(nodes))}
	for _, n := range nodes {
		if n.Ready {
			c.Ready++
		} else if !n.hasFinished() && !n.hasStarted() {
			c.NotReady++
		}
		if n.hasStarted() {
			c.Started++
		}
		if n.Refused != "" {
			c.Refused++
			c.Refusal = cmp.Or(c.Refusal, n.Refused)
		}
		switch n.State {
		case condition.Available:
			c.Available++
		case condition.Failed:
			c.Failed++
		case condition.Aborted:
			c.Aborted++
		case condition.Pending:
			c.Pending++
		default: // the others are progressing
		}
	}
	c.Finished = c.Available + c.Failed + c.Aborted
	return c
}
