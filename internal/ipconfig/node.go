package ipconfig

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Node is every port that the flows act through, each promised in internal/host.
type Node struct {
	Files       host.Files
	Trees       host.Trees
	Deployments host.Deployments
	Units       host.Units
	Masks       host.RuntimeMasks
	Foreign     host.ForeignUnits
	Power       host.Power
	Network     host.Network
	Switch      host.Switch
	Prober      host.Prober
	Resolver    host.Resolver
	Containers  host.Containers
	// Recert is the native engine, RecertImages the one in a container.
	Recert       host.Recert
	RecertImages host.RecertImages
	Logs         host.Logs
	Cluster      Cluster
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
	// Inputs reads what recert needs; pullSecretRef may be empty.
	Inputs(ctx context.Context, pullSecretRef string) (Inputs, error)
	// Facts are what the checks must know of the cluster; what the node knows better is left out.
	Facts(ctx context.Context) (Facts, error)
	// Ready says whether the API server on this node answers and serves the node's object.
	Ready(ctx context.Context) error
	// NodeReady says whether kubelet has reported the node Ready in the boot of the given id.
	NodeReady(ctx context.Context, boot string) error
}
