// Package ipconfig holds the verbs of "lca-cli ip-config". cmd/lca-cli builds
// them; they parse flags, take the node's lock, and call the domain package of
// the same name. They must not import an adapter.
package ipconfig

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// Wiring is what main gives the verbs.
type Wiring struct {
	// Node builds the ports. acting: the verb changes the node, so the process must have
	// its own, writable view of the sysroot.
	Node func(ctx context.Context, acting bool) (ipconfig.Node, ipconfig.Instruments, error)
	// Lock is what acting verbs take, so that no two flows change the node at a time.
	Lock host.NodeLock
	// Patience is how long a verb waits for another to let go of the node; 0 means two minutes.
	Patience time.Duration
	Log      *slog.Logger
	// Answers go to Out, narration to the log.
	Out io.Writer
	// Screen is the size of the terminal behind Out; nil where there is none.
	Screen func() (width, height int)
}

// Command is "ip-config" with its verbs.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ip-config",
		Short: "Change the address, gateway, DNS and VLAN of this node",
		Long: "The steps of an IP change on the node itself. systemd units run them for the operator;\n" +
			"by hand, look with status and plan, and see docs/operate/recover-by-hand.md before anything else.",
	}
	cmd.AddCommand(prePivot(w), postPivot(w), rollback(w), cleanup(w), status(w), plan(w), fetchImage(w))
	return cmd
}
