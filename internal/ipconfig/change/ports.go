// Package change holds the flows of an IP change: pre-pivot, post-pivot, rollback and cleanup, each a plan over the step
// libraries, and the preview of one. docs/flows.md lists their steps.
//
// lca-cli runs them. The package acts through internal/operation and the ports of internal/host: it imports no adapter,
// no Kubernetes client, no controller.
package change

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
)

// Ports is what main gives the operations on a node. Each flow's struct takes from it what that flow uses.
type Ports struct {
	host.Node
	Cluster Cluster
	// Forecaster is for previews only; nil gives previews without recert's part.
	Forecaster Forecaster
	Clock      flow.Clock
	Log        *slog.Logger
}

// Inputs is what pre-pivot must learn from the cluster before it stops it.
type Inputs struct {
	InstallConfig string
	IngressCN     string
	// Crypto maps file names of the kubeconfig-crypto folder to their content. Secret.
	Crypto map[string][]byte
	// NodeAddresses are the Node object's internal addresses, in its order.
	NodeAddresses []netip.Addr
	// PullSecret is a dockerconfigjson. Secret.
	PullSecret []byte
}

// Cluster is the node's own API server, as the flows need it.
type Cluster interface {
	bringup.Cluster
	// Inputs reads what recert needs; pullSecretRef may be empty.
	Inputs(ctx context.Context, pullSecretRef string) (Inputs, error)
	// Facts are what the checks must know of the cluster, without what the node knows better.
	Facts(ctx context.Context) (preflight.Facts, error)
}
