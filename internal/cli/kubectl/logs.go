package kubectl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
)

// podLabels are those of the agent's pods, of both roles.
var podLabels = client.MatchingLabels{"app.kubernetes.io/component": "lifecycle-agent"}

func (w *Wiring) newLogsCommand() *cobra.Command {
	var previous bool
	lines := 200
	cmd := &cobra.Command{
		Use: "logs", Args: cobra.NoArgs, Short: "Print the logs of the agent's pods, of both roles",
		Long:    "Print the logs of the agent's pods. What lca-cli did is in the node's journal: run \"lca-cli must-gather\" there.",
		Example: "  kubectl lca logs --lines 50\n  kubectl lca logs --previous",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := w.connectCluster()
			if err != nil {
				return err
			}
			pods, err := c.listPods(cmd.Context())
			if err != nil {
				return err
			}
			for _, p := range pods {
				fmt.Fprintf(w.Out, "==> pod %s on node %s (%s)\n", p.Name, p.Spec.NodeName, p.Status.Phase)
				if err := c.copyLog(cmd.Context(), w.Out, p.Name, lines, previous); err != nil {
					fmt.Fprintf(w.Out, "no log: %v\n", err)
				}
			}
			return nil
		},
	}
	commandline.Count(cmd.Flags(), &lines, "lines", "how many lines of each pod")
	cmd.Flags().BoolVarP(&previous, "previous", "p", false, "the logs of the containers that ran before")
	return cmd
}

// listPods are the agent's, by name.
func (c Cluster) listPods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := c.Client.List(ctx, &list, client.InNamespace(Namespace), podLabels); err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", Namespace, err)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("namespace %s has no pods of the agent: is it installed?", Namespace)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func (c Cluster) copyLog(ctx context.Context, to io.Writer, pod string, lines int, previous bool) error {
	count := int64(lines)
	stream, err := c.Kube.CoreV1().Pods(Namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: "manager", TailLines: &count, Previous: previous}).Stream(ctx)
	if err != nil {
		return fmt.Errorf("read the log of pod %s: %w", pod, err)
	}
	defer func() { _ = stream.Close() }()
	if _, err := io.Copy(to, stream); err != nil {
		return fmt.Errorf("read the log of pod %s: %w", pod, err)
	}
	return nil
}
