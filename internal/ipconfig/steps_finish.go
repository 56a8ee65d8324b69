package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// never makes a step that is cheap and proves something run in every run.
func never(context.Context) (bool, error) { return false, nil }

func (p *PostPivot) checkSeal(ctx context.Context) error {
	var s sealed
	if err := readJSON(p.Node.Files, host.Seal, &s); err != nil {
		return fmt.Errorf("the stateroot was not sealed: %w", err)
	}
	all, err := p.Node.Deployments.List(ctx)
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return err
	}
	return s.verify(p.Node.Files, booted.Stateroot)
}

// applyNetwork puts the new network in place. It is proved before a single file is
// changed: a network that reaches neither gateway nor DNS never outlives this step.
func (p *PostPivot) applyNetwork(ctx context.Context) error {
	if err := p.Node.Network.Recover(ctx); err != nil {
		return fmt.Errorf("settle an interrupted network change: %w", err)
	}
	data, err := p.Node.Files.Read(host.NMState)
	if err != nil {
		return fmt.Errorf("read %s: %w", host.NMState, err)
	}
	doc, err := netstate.Decode(data)
	if err != nil {
		return fmt.Errorf("%s: %w", host.NMState, err)
	}
	carrier := carrierOf(doc)
	// The proof is patient by itself: a network that failed it is not tried again.
	prove := func(ctx context.Context) error {
		if err := p.prove(ctx, carrier); err != nil {
			return flow.Permanent(err)
		}
		return nil
	}
	if err := p.Node.Network.Apply(ctx, doc, prove); err != nil {
		return fmt.Errorf("apply the new network to %s: %w", carrier, err)
	}
	return nil
}

// carrierOf is the interface that the document gives addresses to.
func carrierOf(doc netstate.Document) string {
	for _, i := range doc.Interfaces {
		if (i.IPv4 != nil && i.IPv4.Enabled) || (i.IPv6 != nil && i.IPv6.Enabled) {
			return i.Name
		}
	}
	return ""
}

// prove says whether gateways and DNS servers answer through the interface, and
// gives them time to.
func (p *PostPivot) prove(ctx context.Context, iface string) error {
	return p.until(ctx, proofTimeout, time.Second, func(ctx context.Context) error { return p.proveOnce(ctx, iface) })
}

// proveOnce asks everybody at once, so that one dead server does not use up the
// time of the others and only those who are silent are named.
func (p *PostPivot) proveOnce(ctx context.Context, iface string) error {
	families, err := p.Request.Families()
	if err != nil {
		return err
	}
	servers, err := p.Request.DNS()
	if err != nil {
		return err
	}
	var questions []func() error
	for _, f := range families {
		if f.Gateway.IsValid() {
			questions = append(questions, func() error { return p.Node.Prober.Gateway(ctx, f.Gateway, iface) })
		}
	}
	for _, s := range servers {
		questions = append(questions, func() error { return p.Node.Prober.DNS(ctx, s) })
	}
	return askAll(questions)
}

func askAll(questions []func() error) error {
	answers := make([]error, len(questions))
	var all sync.WaitGroup
	for i, ask := range questions {
		all.Go(func() { answers[i] = ask() })
	}
	all.Wait()
	return errors.Join(answers...)
}

// until repeats try until it goes well, patience runs out or the context ends; it
// then tells the last error. No single try outlasts tryTimeout.
func (p *PostPivot) until(ctx context.Context, patience, pause time.Duration, try func(context.Context) error) error {
	deadline := p.Node.Clock.Now().Add(patience)
	for {
		once, cancel := context.WithTimeout(ctx, tryTimeout)
		err := try(once)
		cancel()
		if err == nil {
			return nil
		}
		if p.Node.Clock.Sleep(ctx, pause) != nil || p.Node.Clock.Now().After(deadline) {
			return err
		}
	}
}

func (p *PostPivot) startKubelet(ctx context.Context) error {
	if err := p.Node.Units.Enable(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("enable %s: %w", host.UnitKubelet, err)
	}
	deadline := p.Node.Clock.Now().Add(apiTimeout)
	for {
		once, cancel := context.WithTimeout(ctx, dnsPause)
		err := p.Node.Units.Start(once, host.UnitKubelet)
		cancel()
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
			return fmt.Errorf("start %s: %w", host.UnitKubelet, err)
		}
		// It is still starting. That may take for as long as a cable is away, but not for as long as nobody knows names.
		if deaf := p.mendOwnDNS(ctx); deaf != nil && p.Node.Clock.Now().After(deadline) {
			return fmt.Errorf("%s was starting for %s: %w", host.UnitKubelet, apiTimeout, deaf)
		}
	}
}

func (p *PostPivot) waitAPI(ctx context.Context) error {
	if err := p.until(ctx, apiTimeout, 250*time.Millisecond, p.mindingDNS(p.Node.Cluster.Ready)); err != nil {
		return fmt.Errorf("the API server did not come back within %s: %w", apiTimeout, err)
	}
	return nil
}

// waitNode waits for kubelet: an API server alone runs nothing. What the Node object says of earlier boots does
// not count, and it came along from the old stateroot.
func (p *PostPivot) waitNode(ctx context.Context) error {
	boot, err := p.Node.Power.BootID(ctx)
	if err != nil {
		return fmt.Errorf("read the boot id: %w", err)
	}
	ready := func(ctx context.Context) error { return p.Node.Cluster.NodeReady(ctx, boot) }
	if err := p.until(ctx, nodeTimeout, time.Second, p.mindingDNS(ready)); err != nil {
		return fmt.Errorf("the node did not become Ready within %s: %w", nodeTimeout, err)
	}
	return nil
}

// proveBridge proves the network once more, now that br-ex carries it, and that the node hears its own questions there.
func (p *PostPivot) proveBridge(ctx context.Context) error {
	if err := p.prove(ctx, host.BridgeExternal); err != nil {
		return err
	}
	return p.proveOwnDNS(ctx)
}
