// Package ipconfig holds the verbs of "lca-cli ip-config". cmd/lca-cli builds
// them; they parse flags, take the node's lock, and call the domain package of
// the same name. They must not import an adapter.
package ipconfig

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Wiring is what main gives the verbs.
type Wiring struct {
	verb.Wiring
	// Node builds the ports. acting: the verb changes the node, so the process must have its own, writable view of the
	// sysroot.
	Node func(ctx context.Context, acting bool) (change.Ports, operation.Instruments, error)
	// Rehearsal builds the ports of a rehearsal, NewID names one.
	Rehearsal func(ctx context.Context) (rehearsal.Ports, operation.Instruments, error)
	NewID     func() string
}

// Command is "ip-config" with its verbs.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ip-config",
		Short: "Change the address, gateway, DNS and VLAN of this node",
		Long: "Run the flows of an IP change on the node. systemd units call these verbs for the agent. By hand, use status,\n" +
			"plan and rehearse; read docs/operate/recover-by-hand.md before you use another one.",
	}
	cmd.AddCommand(newPrePivotCommand(w), newPostPivotCommand(w), newRollbackCommand(w), newCleanupCommand(w), newStatusCommand(w),
		newPlanCommand(w), newFetchImageCommand(w), newRehearseCommand(w))
	return cmd
}
