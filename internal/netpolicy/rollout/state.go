package rollout

import (
	"time"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// Node is a node that a policy is for.
type Node struct {
	Name string
	// Ready is the condition of the Node.
	Ready bool
	// Canary is set where the policy's canary selector selects the node.
	Canary bool
	// State of the enactment in the policy's present generation; Unknown where the enactment is missing or of an earlier one.
	State condition.State
	// Since is when the state began.
	Since time.Time
	// Granted reports that the node may have started.
	Granted bool
	// Unresolved reports that values of the node are missing, such as an address that is not allocated yet: it cannot start.
	Unresolved bool
	// Refused is why the API server stores no enactment of the node; empty where it does. The node has not started, and starts once it
	// has one.
	Refused string
}

// Of reads state and grant from a node's enactment, which may be nil.
func Of(node Node, policy *nmstatev1.NodeNetworkConfigurationPolicy, e *v1beta1.NodeNetworkConfigurationEnactment) Node {
	if e == nil {
		return node
	}
	node.Granted = v1beta1.Granted(e, policy)
	if e.Status.PolicyGeneration == policy.Generation {
		node.State, node.Since = condition.Of(e.Status.Conditions)
	}
	return node
}

// hasStarted reports that the node is changing, or may be.
func (n Node) hasStarted() bool {
	return n.State == condition.Progressing || n.State == condition.Retrying || n.Granted && !n.hasFinished()
}

// holdsCapacity reports that the node uses up capacity: while it changes, and for good once it failed.
func (n Node) holdsCapacity() bool { return n.hasStarted() || n.State == condition.Failed }

func (n Node) hasFinished() bool {
	return n.State == condition.Available || n.State == condition.Failed || n.State == condition.Aborted
}

// awaitsGrant reports that the node has published its plan and waits for the grant.
func (n Node) awaitsGrant() bool { return n.State == condition.Pending && !n.Granted }
