package netpolicy

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

// peerInterval is how often the cluster is searched for kubernetes-nmstate.
const peerInterval = 15 * time.Second

// peer remembers whether kubernetes-nmstate's handler is in the cluster.
type peer struct {
	mu    sync.Mutex
	asked time.Time
	name  string
}

// standbyReason says why nothing may be granted; empty if there is no other agent.
func (p *peer) standbyReason(ctx context.Context, reader client.Reader, now time.Time) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.IsZero() || now.Sub(p.asked) >= peerInterval {
		list := &appsv1.DaemonSetList{}
		err := reader.List(ctx, list, client.MatchingLabels{nmstatev1.HandlerLabelKey: nmstatev1.HandlerLabelValue}, client.Limit(1))
		if err != nil {
			return "", fmt.Errorf("search for kubernetes-nmstate: %w", err)
		}
		p.asked, p.name = now, ""
		if len(list.Items) > 0 {
			p.name = list.Items[0].Namespace + "/" + list.Items[0].Name
		}
	}
	if p.name == "" {
		return "", nil
	}
	return "kubernetes-nmstate (DaemonSet " + p.name + ") configures this cluster's nodes; remove it, and its policies are adopted", nil
}
