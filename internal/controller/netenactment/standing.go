package netenactment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// settleAfterBoot is how long the network of a boot may differ from a persistent policy before it counts as lost: links come up and
// addresses arrive one after the other.
const settleAfterBoot = 30 * time.Second

// standing is what became of a committed policy since another boot or stateroot.
type standing struct {
	is     netpolicy.Standing
	differ []netpolicy.Mismatch
	// settling: the network differs, and may still be coming up.
	settling bool
}

// bootedStateroot is empty on a plain node.
func (r *Reconciler) bootedStateroot(ctx context.Context) (string, error) {
	if r.stateroot != nil {
		return *r.stateroot, nil
	}
	ostree, err := host.HasDeployments(r.Node.Files)
	if err != nil {
		return "", err
	}
	name := ""
	if ostree && r.Node.Deployments != nil {
		all, err := r.Node.Deployments.List(ctx)
		if err != nil {
			return "", fmt.Errorf("list deployments: %w", err)
		}
		booted, err := host.Booted(all)
		if err != nil {
			return "", fmt.Errorf("find the booted deployment: %w", err)
		}
		name = booted.Stateroot
	}
	r.stateroot = &name
	return name, nil
}

// stand compares the record of a policy with the system that runs, and confirms one whose document is in force, so that what changes
// from then on is drift. It says when to compare again; 0 is at the next event.
func (r *Reconciler) stand(ctx context.Context, s *scene, v *view) (time.Duration, error) {
	c := v.committed
	if c == nil || c.Undone != "" || v.policy == nil || c.UID != string(v.policy.UID) {
		return 0, nil
	}
	if s.request != nil { // the network is changing
		if c.Boot != s.boot {
			v.standing = standing{is: netpolicy.StandingLost, settling: true}
		}
		return 0, nil
	}
	is, differ, err := netpolicy.Stands(r.Node.Files, *c, netpolicy.SystemNow{Boot: s.boot, Stateroot: s.stateroot,
		Network: func() (netstate.Document, error) { return s.network(ctx) }})
	if err != nil {
		return 0, err
	}
	v.standing = standing{is: is, differ: differ}
	if is == netpolicy.StandingLost && !c.Ephemeral {
		if drifted(v, differ) {
			v.standing.is = netpolicy.StandingInForce // it differed before, and that was reported
		} else if wait := r.settling(s, v); wait > 0 {
			v.standing.settling = true
			return wait, nil
		}
	}
	if v.standing.is != netpolicy.StandingInForce {
		return 0, nil
	}
	delete(r.differs, v.name)
	delete(r.lost, v.name) // what is lost from here on is another loss
	return 0, r.confirm(s, v)
}

// settling says how long the network may still take to come up.
func (r *Reconciler) settling(s *scene, v *view) time.Duration {
	if r.differs == nil {
		r.differs = map[string]time.Time{}
	}
	since, known := r.differs[v.name]
	if !known {
		since, r.differs[v.name] = s.now, s.now
	}
	return settleAfterBoot - s.now.Sub(since)
}

func (r *Reconciler) confirm(s *scene, v *view) error {
	if v.committed.Boot == s.boot && (v.committed.Stateroot == s.stateroot || v.committed.Stateroot == "") {
		return nil
	}
	if err := (record.Store{Files: r.Node.Files}).Confirm(*v.committed, s.boot, s.stateroot); err != nil {
		return fmt.Errorf("confirm policy %s in this boot: %w", v.name, err)
	}
	v.committed.Boot, v.committed.Stateroot = s.boot, s.stateroot
	return nil
}

// drifted says that all these keys were reported as drift before.
func drifted(v *view, differ []netpolicy.Mismatch) bool {
	if v.enactment == nil || v.enactment.Status.Drift == nil {
		return false
	}
	known := map[string]bool{}
	for _, m := range v.enactment.Status.Drift.Mismatches {
		known[m.Key] = true
	}
	return !slices.ContainsFunc(differ, func(m netpolicy.Mismatch) bool { return !known[m.Key] })
}

// judgeLost is for a policy that was in force, and that this boot or stateroot runs without: the node has its grant already.
func judgeLost(v *view) judgement {
	if v.standing.settling {
		message := "Waiting for the network of this boot"
		if len(v.standing.differ) > 0 {
			message += ": " + describe(v.standing.differ)
		}
		return judgement{state: condition.Pending, message: message}
	}
	j := judgeWaiting(v, netpolicy.ActionApply)
	if j.state == condition.Pending {
		j.message = lostMessage(v)
	}
	return j
}

func lostMessage(v *view) string {
	return "This boot runs without the policy's network, which is applied again: " + describe(v.standing.differ)
}

// newlyLost says, once in a boot, that a persistent network is found to be lost: the policy is applied again now, or waits for its
// grant.
func (r *Reconciler) newlyLost(s *scene, v *view, j judgement) bool {
	if v.standing.is != netpolicy.StandingLost || v.standing.settling || v.committed.Ephemeral ||
		j.state != condition.Progressing && j.state != condition.Pending || r.lost[v.name] == s.boot {
		return false
	}
	if r.lost == nil {
		r.lost = map[string]string{}
	}
	r.lost[v.name] = s.boot
	return true
}

func superseded(v *view, s *scene) string {
	return fmt.Sprintf("Stateroot %s was configured otherwise after the policy was applied, and is left as it is; edit the policy "+
		"to apply it again. It would change %s", s.stateroot, describe(v.standing.differ))
}

// progress is the message of an enactment under way.
func progress(s *scene) string {
	if s.unreadable {
		return fmt.Sprintf("The journal of operation %s is of a newer version; the network stays as it is until an agent of that "+
			"version runs", s.request.OperationID)
	}
	return condition.MessageProgressing
}
