// Package operationtest is what the simulated worlds of all kinds of operations share: a clock that moves with each sleep, and a
// bomb for the simulated node. Tests import it.
package operationtest

import (
	"context"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
)

// Clock moves on with each sleep and stands still between them.
type Clock struct {
	Time time.Time
	// Least is how far a sleep moves it at least: a wait in small pieces then ends soon.
	Least time.Duration
}

// Now implements flow.Clock.
func (c *Clock) Now() time.Time { return c.Time }

// Sleep implements flow.Clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	c.Time = c.Time.Add(max(d, c.Least))
	return ctx.Err()
}

// Arm has the bomb cut the node's power, or kill the process alone. A bomb that has a step fail, and none, needs nothing.
func Arm(bomb *flowtest.Bomb, n *hosttest.Node, kill bool) {
	if bomb == nil || bomb.Fails() {
		return
	}
	bomb.Kill = func() { n.Cut(); panic(hosttest.PowerCut) }
	arm := n.CrashAt
	if kill {
		bomb.Kill = func() { panic(hosttest.Killed) }
		arm = n.KillAt
	}
	bomb.ArmInside = func(effect int) func() {
		arm(effect)
		return n.Disarm
	}
}
