package kubectl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/retry"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/rehearsal"
)

func (w *Wiring) newRehearseCommand() *cobra.Command {
	var want wanted
	var format string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "rehearse", Args: cobra.NoArgs, Short: "Make a change in a copy of the control plane, while the cluster runs",
		Long: "Write what the flags say into the IPConfig, whose stage stays Idle, and request a rehearsal of it. The cluster is not\n" +
			"changed. A flag that is omitted keeps what the spec says. The exit code is 0 if it passed.",
		Example: "  kubectl lca rehearse --ipv4-address 198.51.100.20 --ipv4-machine-network 198.51.100.0/24 \\\n" +
			"    --ipv4-gateway 198.51.100.1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(format)
			if err != nil {
				return err
			}
			edit, err := want.buildSpecEdit(cmd)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return w.requestReport(ctx, edit, f)
		},
	}
	want.addFlags(cmd)
	cmd.Flags().StringVarP(&format, "output", "o", string(output.Text), "text, yaml or json")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Hour, "how long to wait for the report; the agent goes on in any case")
	return cmd
}

// requestReport requests a rehearsal and awaits its report.
func (w *Wiring) requestReport(ctx context.Context, edit func(*lcav1.IPConfigSpec), format output.Format) error {
	c, err := w.connectCluster()
	if err != nil {
		return err
	}
	asked := w.Clock.Now().UTC().Format(time.RFC3339)
	if err := c.requestRehearsal(ctx, asked, edit); err != nil {
		return err
	}
	for {
		ipc, err := c.getIPConfig(ctx)
		if err == nil && ipc.Spec.Stage != lcav1.StageIdle {
			return fmt.Errorf("the stage was set to %s meanwhile, which ends a rehearsal", ipc.Spec.Stage)
		}
		if err == nil && ipc.Status.Rehearsal != nil && ipc.Status.Rehearsal.Request == asked && ipc.Status.Rehearsal.Finished != nil {
			return w.printRehearsal(*ipc.Status.Rehearsal, format)
		}
		if serr := w.Clock.Sleep(ctx, interval); serr != nil {
			return errors.Join(errors.New("no report yet; the agent goes on, see status.rehearsal of the IPConfig"), err, serr)
		}
	}
}

// printRehearsal is an error for a rehearsal in which something failed, or that did not end by itself.
func (w *Wiring) printRehearsal(r lcav1.Rehearsal, format output.Format) error {
	if err := output.Print(w.Out, format, rehearsal.Rehearsal{Rehearsal: r}); err != nil {
		return err
	}
	if r.Result != lcav1.RehearsalPassed {
		return fmt.Errorf("the rehearsal %s has ended with %s; nothing of the cluster was changed", r.OperationID, r.Result)
	}
	return nil
}

// requestRehearsal writes spec and annotation. In another stage than Idle the agent rehearses nothing.
func (c Cluster) requestRehearsal(ctx context.Context, asked string, edit func(*lcav1.IPConfigSpec)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		ipc, err := c.getIPConfig(ctx)
		if err != nil {
			return err
		}
		if ipc.Spec.Stage != lcav1.StageIdle {
			return fmt.Errorf("a rehearsal needs stage Idle, and the stage is %s (%s)", ipc.Spec.Stage, stateOf(ipc.Status))
		}
		edit(&ipc.Spec)
		if ipc.Annotations == nil {
			ipc.Annotations = map[string]string{}
		}
		ipc.Annotations[lcav1.RehearseAnnotation] = asked
		return c.Client.Update(ctx, ipc)
	})
}
