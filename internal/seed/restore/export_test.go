package restore

import (
	"context"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// RunWrapped is Run with a crash in the plan.
func RunWrapped(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan) error {
	return runOrAbort(ctx, n, with, wrap, false)
}
