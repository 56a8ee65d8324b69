package create

import (
	"context"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// RunWrapped is Run with a crash in the plan.
func RunWrapped(ctx context.Context, n Ports, with operation.Instruments, wrap func(flow.Plan) flow.Plan) error {
	return runOrAbort(ctx, n, with, wrap, false)
}

// SystemDir is where an operation keeps the copies of /var and /etc.
func SystemDir(id string) string {
	return (&generation{request: seed.Request{OperationID: id}}).systemDir()
}

// Expired makes a copy fit to ship and lists what is published of it.
func Expired(ctx context.Context, n Ports, r seed.Request, booted host.Deployment) ([]image.Content, error) {
	g := &generation{n, r, booted}
	if err := g.expireCopy(ctx); err != nil {
		return nil, err
	}
	return g.listContents(&image.SumList{})
}
