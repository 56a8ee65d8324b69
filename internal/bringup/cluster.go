package bringup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Cluster is the node's own API server, as the steps need it.
type Cluster interface {
	// Ready reports whether the API server on this node answers and serves the node's object.
	Ready(ctx context.Context) error
	// NodeReady reports whether kubelet has reported the node Ready in the boot of the given id.
	NodeReady(ctx context.Context, boot string) error
}

// StartKubelet enables and starts kubelet. Its start may take as long as a cable is unplugged, but not as long as the
// node's own DNS server is silent.
func StartKubelet(units host.Units, dns LocalDNS) flow.Step {
	return flow.Step{
		Name: StepStartKubelet, Title: "Start the cluster", Tries: 2, Pause: 5 * time.Second,
		Do: func(ctx context.Context) error {
			if err := units.Enable(ctx, host.UnitKubelet); err != nil {
				return fmt.Errorf("enable %s: %w", host.UnitKubelet, err)
			}
			return startKubelet(ctx, units, dns)
		},
	}
}

func startKubelet(ctx context.Context, units host.Units, dns LocalDNS) error {
	deadline := dns.Clock.Now().Add(apiTimeout)
	for {
		once, cancel := context.WithTimeout(ctx, dnsInterval)
		err := units.Start(once, host.UnitKubelet)
		cancel()
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return fmt.Errorf("start %s: %w", host.UnitKubelet, err)
		}
		if dnsErr := dns.Ensure(ctx); dnsErr != nil && dns.Clock.Now().After(deadline) {
			return fmt.Errorf("%s was starting for %s: %w", host.UnitKubelet, apiTimeout, dnsErr)
		}
	}
}

// WaitAPI waits for the API server.
func WaitAPI(cluster Cluster, dns LocalDNS) flow.Step {
	return flow.Step{
		Name: StepWaitAPI, Title: "Wait for the API", Again: true,
		Do: func(ctx context.Context) error {
			if err := pollUntil(ctx, dns.Clock, wait{apiTimeout, 250 * time.Millisecond}, dns.withDNSCheck(cluster.Ready)); err != nil {
				return fmt.Errorf("the API server did not come back within %s: %w", apiTimeout, err)
			}
			return nil
		},
	}
}

// WaitNode waits for kubelet: an API server alone runs nothing. What the Node object says of earlier boots does not
// count: the object was copied from the old stateroot.
func WaitNode(cluster Cluster, power host.Power, dns LocalDNS) flow.Step {
	return flow.Step{
		Name: StepWaitNode, Title: "Wait for the node to be Ready", Again: true,
		Do: func(ctx context.Context) error {
			boot, err := power.BootID(ctx)
			if err != nil {
				return fmt.Errorf("read the boot id: %w", err)
			}
			ready := func(ctx context.Context) error { return cluster.NodeReady(ctx, boot) }
			if err := pollUntil(ctx, dns.Clock, wait{nodeTimeout, time.Second}, dns.withDNSCheck(ready)); err != nil {
				return fmt.Errorf("the node did not become Ready within %s: %w", nodeTimeout, err)
			}
			return nil
		},
	}
}
