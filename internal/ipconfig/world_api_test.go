package ipconfig_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// api is the node's API server.
type api struct{ w *world }

func (a api) Inputs(context.Context, string) (ipconfig.Inputs, error) {
	if err := a.w.node.ClusterUp(); err != nil {
		return ipconfig.Inputs{}, err
	}
	d := a.w.node.Describe()
	return ipconfig.Inputs{
		InstallConfig: "apiVersion: v1", IngressCN: "ingress-operator@1", PullSecret: []byte(plantedPullSecret),
		Crypto:        map[string][]byte{"loadbalancer-serving-signer.key": append([]byte(plantedKey), a.w.key...)},
		NodeAddresses: []netip.Addr{netip.MustParseAddr(d.Stateroots[d.Booted].Keystore[0])},
	}, nil
}

func (a api) Facts(context.Context) (ipconfig.Facts, error) {
	return ipconfig.Facts{}, a.w.node.ClusterUp()
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
	p, err := ipconfig.ReadProgress(w.node.Files(), op.Request.OperationID)
	if err != nil {
		return err
	}
	m := ipconfig.Monitor{Node: op.Node, Request: op.Request, Auto: op.Auto, Deadline: p.Deadline}
	m.Node.Clock = frozen{w.clock}
	cause, err := m.Watch(ctx)
	switch {
	case err != nil:
		return hosttest.ErrStays
	case cause == "":
		return nil
	}
	return op.RollBack(ctx, "", cause)
}
