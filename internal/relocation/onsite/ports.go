package onsite

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Cluster is the node's own API server.
type Cluster interface {
	bringup.Cluster
	// Healthy says what is wrong with the cluster.
	Healthy(ctx context.Context) error
	// Apply brings one part of the configuration about in the cluster's objects; reconcile.Parts lists them. attention is
	// what did not succeed and must not hold the site up, in words.
	Apply(ctx context.Context, part string, c siteconfig.SiteConfig) (attention string, err error)
}

// Delivery is a configuration that arrived.
type Delivery struct {
	Data []byte
	// Source says in words where from: "volume relocation-config on /dev/sdb1".
	Source string
	// Again: a person asked for this very configuration once more.
	Again bool
}

// Inbox is where configurations arrive.
type Inbox interface {
	// Next waits for a configuration and returns it; the same one again while nothing else is there.
	Next(ctx context.Context) (Delivery, error)
}

// Ports is what main gives the flows.
type Ports struct {
	host.Node
	Cluster Cluster
	Inbox   Inbox
	// Password makes a new password for kubeadmin and its bcrypt hash.
	Password func() (password, hash string, err error)
	// NewClusterID makes a random UUID.
	NewClusterID func() string
	// Acquire takes the node's lock for a flow of the operation; nil where no other program may act.
	Acquire func(ctx context.Context, h host.Holder) (release func(), err error)
	// Withdraw takes an address of the node from every link; nil where there is none to take.
	Withdraw func(ctx context.Context, address netip.Prefix) error
	NewID    func() string
	Clock    flow.Clock
	Log      *slog.Logger
}

func (n Ports) factoryPorts() factory.Ports {
	return factory.Ports{Node: n.Node, Clock: n.Clock, Log: n.Log}
}

// acquireLock takes the node's lock.
func (n Ports) acquireLock(ctx context.Context, r relocation.Request, program string) (func(), error) {
	if n.Acquire == nil {
		return func() {}, nil
	}
	return n.Acquire(ctx, host.Holder{Operation: relocation.FlowReconfigure + " " + r.OperationID, Program: program})
}

// Reservation reports a reconfiguration that is unfinished: it holds the node across reboots. A request that is damaged does so as long as
// a journal shows its attempt under way.
func Reservation(n host.Node) host.Reservation {
	return host.Reservation{Flow: relocation.FlowReconfigure, Unfinished: func(ctx context.Context) (host.Holder, bool, error) {
		r, found, _, err := FindRequest(ctx, n)
		if err != nil || !found {
			return host.Holder{}, false, err
		}
		return operation.Unfinished(ctx, n, relocation.FlowReconfigure, r.OperationID, true)
	}}
}
