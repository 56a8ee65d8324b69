package kubectl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// following are the flags of a verb that sets a stage.
type following struct {
	watch   bool
	timeout time.Duration
}

func (f *following) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "follow it to its end; the exit code is 0 if it succeeds")
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Hour, "how long to follow it; the agent goes on in any case")
}

func (w *Wiring) newRollbackCommand() *cobra.Command {
	var f following
	cmd := &cobra.Command{
		Use: "rollback", Args: cobra.NoArgs, Short: "Return to the system and the address from before the change",
		Example: "  kubectl lca rollback --watch",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.setStage(cmd.Context(), f, lcav1.StageRollback, func(*lcav1.IPConfigSpec) {})
		},
	}
	f.addFlags(cmd)
	return cmd
}

func (w *Wiring) newCommitCommand() *cobra.Command {
	var f following
	cmd := &cobra.Command{
		Use: "commit", Aliases: []string{"keep"}, Args: cobra.NoArgs,
		Short: "Keep the system that runs, and remove the other one and the way back",
		Long: "Set the stage to Idle. After a change this keeps the new address, after a rollback the old one. Before the reboot it\n" +
			"aborts the change.",
		Example: "  kubectl lca commit --watch",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.setStage(cmd.Context(), f, lcav1.StageIdle, func(*lcav1.IPConfigSpec) {})
		},
	}
	f.addFlags(cmd)
	return cmd
}

// setStage sets the stage, edited otherwise, and follows it if that is wanted.
func (w *Wiring) setStage(ctx context.Context, f following, stage lcav1.IPConfigStage, edit func(*lcav1.IPConfigSpec)) error {
	c, err := w.connectCluster()
	if err != nil {
		return err
	}
	if err := c.requestStage(ctx, stage, edit); err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "stage %s is set\n", stage)
	if !f.watch {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err = w.followStatus(bounded, c, endOf(stage))
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("the watch was interrupted; the agent continues stage %s, see \"kubectl lca status\"", stage)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("stage %s has not ended in %s; the agent continues it, see \"kubectl lca status\"", stage, f.timeout)
	}
	return err
}

// requestStage writes the spec. A stage that the agent does not list is refused here too, with the list.
func (c Cluster) requestStage(ctx context.Context, stage lcav1.IPConfigStage, edit func(*lcav1.IPConfigSpec)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		ipc, err := c.getIPConfig(ctx)
		if err != nil {
			return err
		}
		if ipc.Spec.Stage != stage && !slices.Contains(ipc.Status.ValidNextStages, stage) {
			return fmt.Errorf("stage %s is not possible now: from %s (%s) the next stages are: %s",
				stage, ipc.Spec.Stage, stateOf(ipc.Status), joinStages(ipc.Status.ValidNextStages))
		}
		edit(&ipc.Spec)
		ipc.Spec.Stage = stage
		return c.Client.Update(ctx, ipc)
	})
}

// endOf judges whether a stage has ended. Generations are no help: a reboot into the other stateroot brings the object as it was
// there, with an older generation and an older status, until the agent has set what was asked for.
func endOf(stage lcav1.IPConfigStage) func(*lcav1.IPConfig) (bool, error) {
	switch stage {
	case lcav1.StageConfig:
		return configEnded
	case lcav1.StageRollback:
		return rollbackEnded
	default:
		return idleEnded
	}
}

func configEnded(ipc *lcav1.IPConfig) (bool, error) {
	if refused := conditionOf(ipc, lcav1.ConditionConfigInProgress); refused.Reason == lcav1.ReasonInvalidTransition {
		return true, fmt.Errorf("the change was refused: %s", refused.Message)
	}
	done := conditionOf(ipc, lcav1.ConditionConfigCompleted)
	switch {
	case ipc.Spec.Stage != lcav1.StageConfig:
		return true, fmt.Errorf("the stage was set to %s meanwhile", ipc.Spec.Stage)
	case done.Status == metav1.ConditionTrue:
		return true, nil
	case done.Reason == lcav1.ReasonFailed:
		return true, fmt.Errorf("the change failed: %s", done.Message)
	}
	return false, nil
}

// rollbackEnded waits through failures, which the agent retries, and through stage Config, which the object has for a while after the
// reboot.
func rollbackEnded(ipc *lcav1.IPConfig) (bool, error) {
	if ipc.Spec.Stage == lcav1.StageIdle {
		return true, errors.New("the stage was set to Idle meanwhile")
	}
	return conditionOf(ipc, lcav1.ConditionRollbackCompleted).Status == metav1.ConditionTrue, nil
}

func idleEnded(ipc *lcav1.IPConfig) (bool, error) {
	if ipc.Spec.Stage != lcav1.StageIdle {
		return true, fmt.Errorf("the stage was set to %s meanwhile", ipc.Spec.Stage)
	}
	return conditionOf(ipc, lcav1.ConditionIdle).Status == metav1.ConditionTrue, nil
}

// conditionOf is empty where the object has none of the type.
func conditionOf(ipc *lcav1.IPConfig, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(ipc.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}
