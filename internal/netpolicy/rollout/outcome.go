package rollout

import (
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// Outcome is the state of the policy that its conditions show, with kubernetes-nmstate's messages, in the order in which that product
// judges: no nodes, any failure, nodes that have not finished, nodes that wait.
func (c Counts) Outcome() (condition.PolicyState, string) {
	expected := c.Nodes - c.NotReady
	switch {
	case c.Nodes == 0:
		return condition.PolicyIgnored, "Policy does not match any node"
	case c.Failed > 0 || c.Aborted > 0 || c.Refused > 0:
		message := fmt.Sprintf("%d/%d nodes failed to configure", c.Failed+c.Refused, c.Nodes)
		if c.Aborted > 0 {
			message += fmt.Sprintf(", %d nodes aborted configuration", c.Aborted)
		}
		if c.Refused > 0 {
			message += ": " + c.Refusal
		}
		return condition.PolicyFailed, message
	case c.Finished < expected || c.Finished == 0:
		message := fmt.Sprintf("Policy is progressing %d/%d nodes finished", c.Finished, expected)
		if c.Pending > 0 {
			message += fmt.Sprintf(", %d pending", c.Pending)
		}
		if c.NotReady > 0 {
			message += fmt.Sprintf(", %d nodes ignored due to NotReady state", c.NotReady)
		}
		return condition.PolicyProgressing, message
	}
	return condition.PolicyAvailable, fmt.Sprintf("%d/%d nodes successfully configured", c.Available, c.Nodes)
}
