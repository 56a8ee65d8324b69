package controller

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

// servingRetry is how soon the agent looks again for its node among those of the control plane.
const servingRetry = time.Minute

// servingUnknown is how soon it looks again while the API does not answer or has no control-plane node, as after a reboot.
const servingUnknown = time.Second

// servingNode starts a controller of a cluster-wide resource on one node only: the control-plane node whose name sorts first.
// On a single-node cluster that is the node itself. The ValidatingAdmissionPolicy of config/node holds the same rule.
type servingNode struct {
	name string
	// kind is the resource, for the log.
	kind   string
	reader client.Reader
	log    *slog.Logger
	start  func() error
}

// Start implements manager.Runnable.
func (s *servingNode) Start(ctx context.Context) error {
	delay, reported := time.Duration(0), ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delay):
		}
		first, err := firstControlPlane(ctx, s.reader)
		if err == nil && first == s.name {
			return s.start()
		}
		delay = servingRetry
		if err != nil || first == "" {
			delay = servingUnknown
		}
		if status := fmt.Sprint(first, err); status != reported {
			reported = status
			s.log.Info("the resource is not served by this node", "kind", s.kind, "node", s.name, "servingNode", first, "error", err)
		}
	}
}

// firstControlPlane is the name that sorts first among the control-plane nodes; empty while there is none.
func firstControlPlane(ctx context.Context, reader client.Reader) (string, error) {
	var nodes metav1.PartialObjectMetadataList
	nodes.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := reader.List(ctx, &nodes); err != nil {
		return "", fmt.Errorf("list the nodes: %w", err)
	}
	first := ""
	for _, n := range nodes.Items {
		if cluster.IsControlPlane(&corev1.Node{ObjectMeta: n.ObjectMeta}) && (first == "" || n.Name < first) {
			first = n.Name
		}
	}
	return first, nil
}
