package change_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
)

// api is the node's API server.
type api struct{ w *world }

func (a api) Inputs(context.Context, string) (change.Inputs, error) {
	if err := a.w.node.ClusterUp(); err != nil {
		return change.Inputs{}, err
	}
	d := a.w.node.Describe()
	addresses := []netip.Addr{netip.MustParseAddr(d.Stateroots[d.Booted].Keystore[0])}
	if a.w.second.IsValid() {
		addresses = append(addresses, a.w.second)
	}
	return change.Inputs{
		InstallConfig: "apiVersion: v1", IngressCN: "ingress-operator@1", PullSecret: []byte(plantedPullSecret),
		Crypto:        map[string][]byte{"loadbalancer-serving-signer.key": append([]byte(plantedKey), a.w.key...)},
		NodeAddresses: addresses,
	}, nil
}

func (a api) Facts(context.Context) (preflight.Facts, error) {
	return preflight.Facts{}, a.w.node.ClusterUp()
}

func (a api) Ready(context.Context) error {
	if a.w.noAPI != nil {
		return a.w.noAPI()
	}
	return a.w.node.ClusterUp()
}

func (a api) NodeReady(ctx context.Context, boot string) error {
	if a.w.notReady != nil {
		return a.w.notReady()
	}
	if id, err := a.w.node.Power().BootID(ctx); err != nil || id != boot {
		return fmt.Errorf("asked for boot %q, this is %q: %w", boot, id, err)
	}
	return a.w.node.ClusterUp()
}

// frozen is a clock on which nobody gets through a sleep: who would wait is told so.
type frozen struct{ *fakeTime }

func (frozen) Sleep(context.Context, time.Duration) error { return errors.New("there is time left") }

// watch is one look of the watchdog at the clock.
func (w *world) watch(ctx context.Context) error {
	if !w.watched {
		return nil
	}
	op, err := w.open(ctx)
	if err != nil || !op.InNewStateroot() {
		return err
	}
	m := change.Monitor{Files: op.Ports.Files, Clock: frozen{w.clock}, Log: op.Ports.Log, Request: op.Request, Auto: op.Auto}
	w.monitor = &m
	cause, err := m.Watch(ctx)
	switch {
	case err != nil:
		return hosttest.ErrStays
	case cause == "":
		return nil
	}
	return op.RollBackInTime(ctx, cause)
}
