// Package gather is "lca-cli must-gather": it collects what explains a trouble of a node, over ports, into an archive without secrets.
package gather

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/archive"
)

// Wiring is what the verb needs.
type Wiring struct {
	Out  io.Writer
	Now  func() time.Time
	Node func(context.Context) (Node, error)
}

// Command is the verb "must-gather" of lca-cli.
func Command(w Wiring) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "must-gather", Args: cobra.NoArgs,
		Short: "Collect diagnostics of this node into one archive, without secrets",
		Long: `Collect into one archive, for support: the journals and evidence of the operations of every stateroot, their system
journals, the state and the logs of the units, the network as observed, and the summary of recert.

It reads only. Files with keys, the connections of NetworkManager, the requests of a restore and of a relocation, and pull
secrets are not taken; what they hold, and what looks like a key, a token or a password, is blanked in everything else.
Read it before you hand it on: an address or a name of the site is no secret to this program.`,
		Example: "  lca-cli must-gather\n  lca-cli must-gather --file /var/tmp/node.tar.gz",
		RunE: func(cmd *cobra.Command, _ []string) error {
			node, err := w.Node(cmd.Context())
			if err != nil {
				return err
			}
			now := w.Now().UTC()
			root := "must-gather-" + now.Format("20060102-150405")
			if file == "" {
				file = "/var/tmp/" + root + ".tar.gz"
			}
			// A node without ostree, or with one that fails, has an archive too: of the system that runs.
			others, missing := node.Others(cmd.Context())
			if err := archive.Save(file, func(to io.Writer) error {
				a := archive.New(to, root, now, node.Redactor(others).Redact)
				if err := errors.Join(a.Add("stateroots", nil, missing), node.Collect(cmd.Context(), a, others)); err != nil {
					return err
				}
				return a.Close()
			}); err != nil {
				return err
			}
			fmt.Fprintln(w.Out, file)
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the archive to write (default: /var/tmp/must-gather-TIME.tar.gz)")
	return cmd
}
