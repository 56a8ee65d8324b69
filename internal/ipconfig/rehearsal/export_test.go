package rehearsal

import (
	"context"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// RunWrapped is Run with a crash put into the plan.
func RunWrapped(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan) error {
	k := Kind(n)
	k.Wrap = wrap
	return k.Run(ctx, n.toMachine(), with)
}
