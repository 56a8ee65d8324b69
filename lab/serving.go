package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// Serving waits until the node's cluster serves and calls the node Ready; Ready ought to have returned. A kubelet tells systemd
// that it has started, not that what it runs has. A node without a cluster, or whose kubelet has been told not to run, is as it
// should be.
func (l *Lab) Serving(ctx context.Context) error {
	if _, err := os.Stat(l.Kubeconfig()); err != nil {
		return nil
	}
	kubelet, err := l.Machine.Exec(ctx, machine.Command{Argv: []string{"systemctl", "is-active", "kubelet.service"}})
	if err != nil || firstLine(kubelet.Stdout) != "active" {
		return err
	}
	limit := readyWithin[l.Kind]
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		last := l.serves(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the node's cluster does not serve after %s, see lab exec -- journalctl -u kubelet: %w", limit, last)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// serves says what is missing at this moment.
func (l *Lab) serves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	config, err := l.RESTConfig(ctx)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := clients.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("ask whether the API is ready: %w", err)
	}
	nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		_, role := node.Labels["node-role.kubernetes.io/control-plane"]
		for _, c := range node.Status.Conditions {
			if role && c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
	}
	return errors.New("no node of the control plane is Ready")
}
