package seed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

// restoring is what the flags of restore say.
type restoring struct {
	access
	site, key string
	watchdog  time.Duration
	otherCPUs bool
	run       bool
}

func (w Wiring) newRestoreCommand() *cobra.Command {
	var o restoring
	cmd := &cobra.Command{
		Use: "restore IMAGE", Args: cobra.MaximumNArgs(1),
		Short: "Boot this node from a seed image, under another name, domain and address",
		Long: "Lay a seed image into a new stateroot of this node, and reboot into it. There it takes the name, domain, address, keys\n" +
			"and pull secret of the site configuration. The stateroot that runs now is not touched and its cluster runs until\n" +
			"the reboot; the node goes back to it by itself when the restored cluster is not healthy in time, and with\n" +
			"'lca-cli seed rollback' afterwards. 'lca-cli seed abort' gives up before the reboot; 'lca-cli seed status --watch'\n" +
			"follows it over the reboot.",
		Example: "  kubectl lca relocation config init > site.yaml && vi site.yaml\n" +
			"  lca-cli seed restore registry.example.com/seeds/sno:4.20.3 --site-config site.yaml --authfile auth.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.run {
				return w.restoreHere(cmd.Context())
			}
			if len(args) != 1 || o.site == "" {
				return errors.New("give the image and --site-config: lca-cli seed restore IMAGE --site-config FILE")
			}
			return w.restoreDetached(cmd.Context(), o, args[0])
		},
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.site, "site-config", "", "the site configuration: name, domain, address, keys, pull secret (required)")
	cmd.Flags().StringVar(&o.key, "key", "", "public key in PEM that must have signed the image")
	cmd.Flags().DurationVar(&o.watchdog, "watchdog", 45*time.Minute, "how long the restored system may take before the node goes back")
	cmd.Flags().BoolVar(&o.otherCPUs, "allow-other-cpus", false, "restore on processors that differ from the seed's")
	verb.AddRunFlag(cmd, &o.run)
	return cmd
}

func (w Wiring) restoreHere(ctx context.Context) error {
	node, with, err := w.Restore(ctx, true)
	if err != nil {
		return err
	}
	return w.RunHere(ctx, restore.Kind(node).Holder(node.Files), "seed restore", func(ctx context.Context) error {
		return restore.Run(ctx, node, with)
	})
}

func (w Wiring) restoreDetached(ctx context.Context, o restoring, image string) error {
	node, _, err := w.Restore(ctx, false)
	if err != nil {
		return err
	}
	ask, err := w.readRestoreFiles(o, image)
	if err != nil {
		return err
	}
	r, err := w.acceptRestore(ctx, node, ask)
	if err != nil {
		return w.Verdict("seed restore", err)
	}
	p, err := w.Follow(ctx, verb.Detached{
		Transients: node.Transients, Units: node.Units, Files: node.Files, Unit: seed.UnitRestore, Operation: r.OperationID,
		Description: "Lifecycle Agent: restore a seed image", Args: []string{"seed", "restore", "--run"},
	})
	if err != nil {
		return err
	}
	if f := p.Flow(seed.FlowRestore); !f.Committed {
		return &verb.FinalError{Cause: fmt.Errorf("restore %s: %w", image, restore.Kind(node).Facts().Failure(p))}
	}
	_, err = fmt.Fprintf(w.Out, "the node reboots into stateroot %s; follow it there with 'lca-cli seed status --watch'\n", r.New)
	return err
}

// acceptRestore holds the node while the request is judged and stored: a restore must not begin amidst another operation.
func (w Wiring) acceptRestore(ctx context.Context, node restore.Ports, ask restore.Ask) (restore.Request, error) {
	release, err := w.Take(ctx, seed.FlowRestore, "seed restore")
	if err != nil {
		return restore.Request{}, err
	}
	defer release()
	return restore.Begin(ctx, node, ask)
}

// readRestoreFiles reads the files that were named.
func (w Wiring) readRestoreFiles(o restoring, image string) (ask restore.Ask, err error) {
	ask = restore.Ask{Image: image, Watchdog: o.watchdog, OtherHardware: o.otherCPUs}
	bundle := []byte(nil)
	for _, f := range []struct {
		name string
		into *[]byte
	}{{o.site, &ask.Site}, {o.authFile, &ask.Auth}, {o.key, &ask.Key}, {o.caFile, &bundle}} {
		if f.name == "" {
			continue
		}
		if *f.into, err = w.ReadInput(f.name); err != nil {
			return ask, err
		}
	}
	if o.key != "" && len(ask.Key) == 0 {
		return ask, fmt.Errorf("%s is empty: give the public key that must have signed the image", o.key)
	}
	ask.CABundle = string(bundle)
	if o.authFile != "" {
		ask.AuthFile, err = filepath.Abs(o.authFile)
	}
	return ask, err
}

// abortRestore stops the unit, which undoes what it can, and does the rest.
func (w Wiring) abortRestore(ctx context.Context) error {
	node, with, err := w.Restore(ctx, true)
	if err != nil {
		return err
	}
	release, err := w.TakeFromUnit(ctx, node.Units, seed.UnitRestore, restore.Kind(node).Holder(node.Files), "seed abort")
	if err != nil {
		return err
	}
	defer release()
	if _, found, err := restore.ReadRequest(node.Files); err == nil && !found {
		return w.Verdict("seed abort", nil) // the unit did all of it
	}
	return w.Verdict("seed abort", restore.Abort(ctx, node, with))
}

// openRestored opens the side of a restore after the reboot. It refuses a node that runs no restored image.
func (w Wiring) openRestored(ctx context.Context) (*onsite.Service, error) {
	ports, with, err := w.Site(ctx, true)
	if err != nil {
		return nil, err
	}
	record, err := relocation.ReadRecord(ports.Files)
	if err != nil && !errors.Is(err, operation.ErrRefused) {
		return nil, err
	}
	if err != nil || record.Running == nil {
		return nil, operation.Refuse("this node does not run a restored seed image that it could go back from")
	}
	return &onsite.Service{Ports: ports, With: with}, nil
}

func (w Wiring) newRollbackCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rollback", Args: cobra.NoArgs,
		Short: "Reboot into the cluster that ran before the restore, as it was",
		RunE:  func(cmd *cobra.Command, _ []string) error { return w.Verdict("seed rollback", w.goBack(cmd.Context())) },
	}
}

// goBack leaves the steps to a unit: the terminal may end with the network, and what was asked for outlives a power cut.
func (w Wiring) goBack(ctx context.Context) error {
	s, err := w.openRestored(ctx)
	if err != nil {
		return err
	}
	if err := s.AskBack(ctx, restore.CauseRequested); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.Out, "the node goes back to the cluster that ran before and reboots; follow it with 'journalctl -fu %s'\n",
		relocation.UnitRollback)
	return err
}

func (w Wiring) newCommitCommand() *cobra.Command {
	return &cobra.Command{
		Use: "commit", Args: cobra.NoArgs,
		Short: "Keep the restored cluster: remove the stateroot that ran before, and with it the way back",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.Verdict("seed commit", w.commitRestore(cmd.Context()))
		},
	}
}

func (w Wiring) commitRestore(ctx context.Context) error {
	s, err := w.openRestored(ctx)
	if err != nil {
		return err
	}
	release, err := w.Take(ctx, relocation.FlowKeep, "seed commit")
	if err != nil {
		return err
	}
	defer release()
	return s.Keep(ctx)
}
