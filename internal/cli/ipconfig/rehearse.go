package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	answer "github.com/lifecycle-agent/lifecycle-agent/internal/cli/rehearsal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
)

// lookAgain is how long a rehearsal tries to get the node: who only looks at the lock has it for a moment.
const lookAgain = time.Second

func newRehearseCommand(w Wiring) *cobra.Command {
	var format string
	var want wanted
	var run, abort bool
	var asked string
	cmd := &cobra.Command{
		Use: "rehearse", Args: cobra.NoArgs,
		Short: "Make a change in a copy of the control plane, while the cluster runs (runs as " + rehearsal.Unit + ")",
		Long: "Copy etcd and the configuration, rewrite the copy for the new addresses, start its etcd and kube-apiserver in a network\n" +
			"of their own, and report what that proved. The cluster continues to run, nothing of it is changed, and the copy is\n" +
			"removed. Any other operation ends a rehearsal. A flag that is omitted keeps the node's present value. See docs/rehearsal.md.",
		Example: "  lca-cli ip-config rehearse --ipv4-address 198.51.100.20 --ipv4-machine-network 198.51.100.0/24 \\\n" +
			"    --ipv4-gateway 198.51.100.1 --dns-server 198.51.100.53",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			want.vlanSet = cmd.Flags().Changed("vlan-id")
			switch {
			case run:
				return rehearseHere(cmd.Context(), w)
			case abort:
				return abortRehearsal(cmd.Context(), w)
			}
			return rehearseDetached(cmd.Context(), w, asked, want.toSpec(), f)
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	cmd.Flags().BoolVar(&abort, "abort", false, "end the rehearsal that is under way, and remove the copy")
	cmd.Flags().StringVar(&asked, "asked", "", "value of the annotation that requests it")
	_ = cmd.Flags().MarkHidden("asked")
	want.addFlags(cmd.Flags())
	verb.AddRunFlag(cmd, &run)
	return cmd
}

// rehearseHere runs the steps. A node that another operation holds is not waited for: a rehearsal gives way.
func rehearseHere(ctx context.Context, w Wiring) error {
	node, with, err := w.Rehearsal(ctx)
	if err != nil {
		return err
	}
	w.LockTimeout = lookAgain
	kind := rehearsal.Kind(node)
	err = w.RunHere(ctx, kind.Holder(node.Files), "ip-config rehearse", func(ctx context.Context) error {
		return rehearsal.Run(ctx, node, with)
	})
	var busy *host.BusyError
	if errors.As(err, &busy) {
		return &verb.FinalError{Cause: errors.Join(err, rehearsal.GiveWay(ctx, node, err))}
	}
	return err
}

// rehearseDetached stores the request, has the unit carry it out, and shows the report.
func rehearseDetached(ctx context.Context, w Wiring, asked string, spec lcav1.IPConfigSpec, format output.Format) error {
	node, _, err := w.Rehearsal(ctx)
	if err != nil {
		return err
	}
	if h, held, err := w.Lock.Holder(ctx); err == nil && held {
		return &verb.FinalError{Cause: fmt.Errorf("ip-config rehearse: %w", &host.BusyError{Holder: h})}
	}
	if spec.IPv4 == nil && spec.IPv6 == nil {
		prepared, err := ipconfig.ReadRequest(node.Files)
		if errors.Is(err, ipconfig.ErrNoRequest) {
			err = errors.New("nothing is prepared on this node: say what to change, at least --ipv4-address or --ipv6-address")
		}
		if err != nil {
			return err
		}
		spec = prepared.Spec()
	}
	r, err := rehearsal.Prepare(ctx, node, w.NewID(), asked, spec)
	if err != nil {
		return w.Verdict("ip-config rehearse", err)
	}
	ended := w.CarryOut(ctx, verb.Errand{
		Kind: rehearsal.Kind(node).Facts(), Node: node.Node, Operation: r.OperationID, Background: true,
		Description: "Lifecycle Agent: rehearse a change of the address", Args: []string{"ip-config", "rehearse", "--run"},
	}, "rehearse the change")
	report, found, err := rehearsal.ReadReport(node.Files)
	if err != nil || !found || report.OperationID != r.OperationID {
		return errors.Join(ended, err)
	}
	if err := output.Print(w.Out, format, answer.Rehearsal{Rehearsal: report}); err != nil {
		return err
	}
	switch {
	case ended == nil && report.Result == lcav1.RehearsalFailed:
		ended = &verb.FinalError{Cause: errors.New("the rehearsal found what would fail the change; nothing of the cluster was changed")}
	case ended == nil && report.Result == lcav1.RehearsalIncomplete:
		ended = &verb.FinalError{Cause: errors.New("the rehearsal could not prove all that it tries; nothing of the cluster was changed")}
	}
	return ended
}

func abortRehearsal(ctx context.Context, w Wiring) error {
	node, with, err := w.Rehearsal(ctx)
	if err != nil {
		return err
	}
	kind := rehearsal.Kind(node)
	if _, err := kind.Read(node.Files); err != nil {
		return w.Verdict("ip-config rehearse --abort", err)
	}
	release, err := w.TakeFromUnit(ctx, node.Units, rehearsal.Unit, kind.Holder(node.Files), "ip-config rehearse --abort")
	if err != nil {
		return err
	}
	defer release()
	if _, found, err := kind.Find(node.Files); err == nil && !found { // its unit has removed everything when it was stopped
		return nil
	}
	return w.Verdict("ip-config rehearse --abort", rehearsal.Abort(ctx, node, with))
}
