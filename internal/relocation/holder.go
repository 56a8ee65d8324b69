package relocation

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Holder describes an unfinished flow for programs that wait for the node; found is false where it does not run.
// acrossBoots: the flow continues after a reboot.
func Holder(ctx context.Context, n host.Node, name, id string, acrossBoots bool) (h host.Holder, found bool, err error) {
	entries, err := operation.ReadEntries(n.Files, id)
	if err != nil {
		return h, false, err
	}
	boot, err := n.Power.BootID(ctx)
	if err != nil {
		return h, false, fmt.Errorf("read the boot id: %w", err)
	}
	f := flow.Fold(id, entries).Flow(name)
	phase, since := operation.Phase(name, f)
	h = host.Holder{Operation: name + " " + id, Phase: phase, Boot: boot, Since: since}
	return h, f.Running() && (acrossBoots || f.Boot == boot), nil
}
