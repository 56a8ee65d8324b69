package change

import (
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// UnprovedReturn says why the old system runs again where the new one was to boot once, and no rollback was begun: something
// ended that boot before the change was proved. It is empty otherwise. What the new system did is in its own journal.
func UnprovedReturn(files host.Files, r ipconfig.Request, here ipconfig.Progress, boot string) string {
	if !here.Once || !here.PrePivot.Committed || here.PrePivot.Boot == boot || here.Rollback.Begun {
		return ""
	}
	data, err := files.Read(host.InVar(r.NewStateroot, operation.JournalPath(r.OperationID)))
	if err != nil {
		return ipconfig.CauseUnproved
	}
	there := ipconfig.Project(flow.Fold(r.OperationID, flow.Salvage(data)))
	switch post := there.PostPivot; {
	case there.Rollback.Begun, post.Finished, post.Step == ipconfig.StepDisarm, post.Step == ipconfig.StepWipe:
		return "" // the default was changed by hand
	case !post.Begun:
		return ipconfig.CauseUnproved + "; it did not come as far as its services: the kernel, the initramfs, or what boot needs failed"
	default:
		return ipconfig.CauseUnproved + fmt.Sprintf("; step %d of %d (%s) was not done", post.Index, post.Total, post.Step)
	}
}
