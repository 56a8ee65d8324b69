package soak

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// place is an address of the node with all that belongs to it.
type place struct {
	site    network.Site
	address netip.Addr
	network string
}

func places() [2]place {
	return [2]place{
		{network.Home(), netip.MustParseAddr("192.0.2.10"), "192.0.2.0/24"},
		{network.Away(), netip.MustParseAddr("198.51.100.20"), "198.51.100.0/24"},
	}
}

// node is the machine under test, and where it is.
type node struct {
	lab    *lab.Lab
	driver *drive.Driver
	places [2]place
	at     int
}

func newNode(l *lab.Lab) (*node, error) {
	n := &node{lab: l, places: places()}
	var err error
	n.driver, err = drive.New(l, nil, n.places[0].address, n.places[1].address)
	return n, err
}

// ask requests a flow; a change goes to wherever the node is not. An API that answers badly for a moment after a boot is asked
// again; one that calls the request invalid is not.
func (n *node) ask(ctx context.Context, f flow) error {
	ctx, cancel := context.WithTimeout(ctx, patience[n.lab.Kind])
	defer cancel()
	for {
		err := n.driver.Patch(ctx, map[string]any{"spec": n.request(f)})
		if err == nil || apierrors.IsInvalid(err) || ctx.Err() != nil {
			return err
		}
		if pause(ctx, time.Second) != nil {
			return fmt.Errorf("ask for a %s: %w", f, err)
		}
	}
}

func (n *node) request(f flow) map[string]any {
	switch f {
	case rollback:
		return map[string]any{"stage": lcav1.StageRollback}
	case final:
		return map[string]any{"stage": lcav1.StageIdle}
	default: // a change
	}
	to := n.places[1-n.at]
	return map[string]any{
		"stage": lcav1.StageConfig,
		"ipv4": map[string]any{
			"address": to.address.String(), "machineNetwork": to.network, "gateway": to.site.Gateway.Addr().String(),
		},
		"dnsServers": []string{to.site.DNS.Addr().String()},
	}
}

// undisturbed asks for a flow and sees it through.
func (n *node) undisturbed(ctx context.Context, f flow) error {
	if err := n.ask(ctx, f); err != nil {
		return fmt.Errorf("%s that nobody disturbs: %w", f, err)
	}
	if _, err := n.settled(ctx); err != nil {
		return fmt.Errorf("%s that nobody disturbs: %w", f, err)
	}
	return nil
}

func (n *node) cut(ctx context.Context) error {
	if err := n.lab.Machine.PowerCut(ctx); err != nil {
		return err
	}
	return n.lab.Machine.Start(ctx)
}

// settled waits until the resource says that nothing goes on any more, well or badly, and until the node is seen whole at one
// address: a kubelet that has just started may still have to say where it is.
func (n *node) settled(ctx context.Context) (*lcav1.IPConfig, error) {
	ctx, cancel := context.WithTimeout(ctx, patience[n.lab.Kind])
	defer cancel()
	ipc, err := n.driver.Eventually(ctx, "the node to settle", atRest)
	if err != nil {
		return nil, err
	}
	for {
		seen := n.look(ctx)
		if seen == nil {
			return ipc, nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, fmt.Errorf("the resource says that nothing goes on, but: %w", seen)
		}
	}
}

// atRest says that what was asked for last has ended, and that something else may be asked for.
func atRest(ipc *lcav1.IPConfig) bool {
	if ipc.Status.ObservedGeneration < ipc.Generation || len(ipc.Status.ValidNextStages) == 0 {
		return false
	}
	of := map[lcav1.IPConfigStage]string{
		lcav1.StageIdle: lcav1.ConditionIdle, lcav1.StageConfig: lcav1.ConditionConfigCompleted, lcav1.StageRollback: lcav1.ConditionRollbackCompleted,
	}
	for _, c := range ipc.Status.Conditions {
		if c.Type == of[ipc.Spec.Stage] {
			return c.Status == "True" || ipc.Spec.Stage == lcav1.StageConfig && c.Reason == lcav1.ReasonFailed
		}
	}
	return false
}

// look sees from outside where the node is: it must be at one of its addresses and silent at the other.
func (n *node) look(ctx context.Context) error {
	var there []int
	var errs []error
	for i, p := range n.places {
		s := drive.Look(ctx, n.lab, p.address)
		switch {
		case s.API && len(s.NodeAddresses) == 1 && s.NodeAddresses[0] == p.address.String():
			there = append(there, i)
		case s.Ping || s.API:
			errs = append(errs, fmt.Errorf("%s answers ping %t, API %t, the Node object has %v: %s", p.address, s.Ping, s.API, s.NodeAddresses, s.Error))
		}
	}
	if len(there) != 1 || len(errs) > 0 {
		return errors.Join(append(errs, fmt.Errorf("the node is whole at %d of its two addresses, not at one", len(there)))...)
	}
	n.at = there[0]
	return nil
}
