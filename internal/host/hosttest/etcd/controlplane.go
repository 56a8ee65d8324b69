package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// CopiedControlPlane is what runs of a copy of the node. A reboot ends it, the death of the program that started it does not.
type CopiedControlPlane struct {
	Own     []netip.Prefix
	Running []string
	life    int
}

// ControlPlane is the node's host.ControlPlaneCopies.
func (n *Member) ControlPlane() host.ControlPlaneCopies { return controlPlane{n} }

// Copied is the control plane of a copy that runs; empty for none.
func (n *Member) Copied() CopiedControlPlane {
	if n.copied.life != n.Life {
		return CopiedControlPlane{}
	}
	return n.copied
}

type controlPlane struct{ n *Member }

// enterLife enters the machine and forgets what ran before the boot.
func (c controlPlane) enterLife() {
	c.n.Enter()
	if c.n.copied.life != c.n.Life {
		c.n.copied = CopiedControlPlane{life: c.n.Life}
	}
}

// CopyStore implements host.ControlPlaneCopies.
func (c controlPlane) CopyStore(_ context.Context, root string) error {
	c.enterLife()
	defer c.n.Unlock()
	if !c.n.running() {
		return errors.New("reach the running etcd: it does not run")
	}
	to := path.Join(root, storeFile)
	if err := c.n.Change("controlplane.copy", to); err != nil {
		return err
	}
	data, err := c.n.ReadFile(storeFile)
	if err != nil {
		return err
	}
	return c.n.WriteDurable(to, machine.Secret(string(data)))
}

// Isolate implements host.ControlPlaneCopies.
func (c controlPlane) Isolate(_ context.Context, own []netip.Prefix) error {
	c.enterLife()
	defer c.n.Unlock()
	if err := c.n.Change("controlplane.isolate", ""); err != nil {
		return err
	}
	c.n.copied.Own = slices.Clone(own)
	return nil
}

// Start implements host.ControlPlaneCopies.
func (c controlPlane) Start(_ context.Context, root string, s host.StaticContainer) error {
	c.enterLife()
	defer c.n.Unlock()
	if len(c.n.copied.Own) == 0 {
		return errors.New("start a container: the copy has no network")
	}
	if err := c.n.Change("controlplane.start", s.Name); err != nil {
		return err
	}
	if _, err := c.n.Store(root); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	c.n.copied.Running = append(c.n.copied.Running, s.Name)
	return nil
}

// Output implements host.ControlPlaneCopies.
func (c controlPlane) Output(_ context.Context, s host.StaticContainer) (text string, running bool, err error) {
	c.enterLife()
	defer c.n.Unlock()
	return "", slices.Contains(c.n.copied.Running, s.Name), nil
}

// Ask implements host.ControlPlaneCopies: whatever runs on an address of the copy answers, and every Node has all of the addresses.
func (c controlPlane) Ask(_ context.Context, q host.Question) (host.Reply, error) {
	c.enterLife()
	defer c.n.Unlock()
	type address struct{ Type, Address string }
	var have []address
	for _, p := range c.n.copied.Own {
		have = append(have, address{"InternalIP", p.Addr().String()})
	}
	if len(c.n.copied.Running) == 0 || !slices.ContainsFunc(c.n.copied.Own, func(p netip.Prefix) bool { return p.Addr() == q.At.Addr() }) {
		return host.Reply{}, errors.New("connection refused")
	}
	body, err := json.Marshal(map[string]any{"items": []any{map[string]any{"status": map[string]any{"addresses": have}}}})
	return host.Reply{Status: http.StatusOK, Body: body}, err
}

// Remove implements host.ControlPlaneCopies.
func (c controlPlane) Remove(context.Context) error {
	c.enterLife()
	defer c.n.Unlock()
	if err := c.n.Change("controlplane.remove", ""); err != nil {
		return err
	}
	c.n.copied = CopiedControlPlane{life: c.n.Life}
	return nil
}
