package create

import (
	"context"
	"errors"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// Holder is what the lock calls a generation that runs.
func Holder(files host.Files) string {
	if r, err := seed.ReadRequest(files); err == nil {
		return seed.FlowCreate + " " + r.OperationID
	}
	return seed.FlowCreate
}

// Reservation reports whether a generation is unfinished: it holds the node from its first step until it has ended, also
// across a reboot, because it continues from its copy.
func Reservation(n Ports) host.Reservation {
	return host.Reservation{Flow: seed.FlowCreate, Unfinished: func(ctx context.Context) (host.Holder, bool, error) {
		r, err := seed.ReadRequest(n.Files)
		if errors.Is(err, seed.ErrNoRequest) || errors.Is(err, operation.ErrRefused) {
			return host.Holder{}, false, nil
		}
		if err != nil {
			return host.Holder{}, false, err
		}
		p, err := seed.ReadProgress(n.Files, r.OperationID)
		if err != nil {
			return host.Holder{}, false, err
		}
		boot, err := n.Power.BootID(ctx)
		if err != nil {
			return host.Holder{}, false, err
		}
		phase, since := operation.Phase(seed.FlowCreate, p.Create)
		h := host.Holder{Operation: seed.FlowCreate + " " + r.OperationID, Phase: phase, Boot: boot, Since: since}
		return h, p.Create.Running(), nil
	}}
}
