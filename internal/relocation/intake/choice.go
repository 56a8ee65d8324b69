package intake

import (
	"context"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
)

// ChoosesAddress: the site's network is in place, and kubelet, with which the node chooses the address of its cluster, has not
// started. A journal that cannot be read is taken for one that says so.
func ChoosesAddress(ctx context.Context, n host.Node) bool {
	r, under, _, err := onsite.FindRequest(ctx, n)
	if err != nil || !under {
		return err != nil
	}
	entries, err := operation.ReadEntries(n.Files, r.OperationID)
	if err != nil {
		return true
	}
	progress := flow.Fold(r.OperationID, entries)
	started := slices.ContainsFunc(progress.Timeline, func(s flow.StepRecord) bool {
		return s.Flow == relocation.FlowReconfigure && s.Step == bringup.StepStartKubelet && s.Kind == flow.KindDone
	})
	return progress.Flow(relocation.FlowReconfigure).Committed && !started
}
