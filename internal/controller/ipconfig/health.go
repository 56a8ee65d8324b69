package ipconfig

import (
	"context"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

// unhealthy says in one sentence why the cluster is not healthy; empty when it is, or
// when the annotation says that nobody wants to know.
func (r *Reconciler) unhealthy(ctx context.Context, ipc *lcav1.IPConfig, skip string) string {
	if _, skipped := ipc.Annotations[skip]; skipped {
		return ""
	}
	return cluster.Health(ctx, r.Reader).Error()
}
