package probing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Kinds of probe. They are stored in requests and named in evidence; the first four are the built-in ones of the API.
const (
	// KindGateway: a next hop of the default routes in the main table answers.
	KindGateway = "Gateway"
	// KindDNS: a name server of the running resolver answers.
	KindDNS = "DNS"
	// KindAPI: the API server that kubelet uses answers.
	KindAPI = "APIServer"
	// KindNode: kubelet says that it is healthy.
	KindNode = "NodeReady"
	// KindCustom: an endpoint that the policy names answers.
	KindCustom = "Custom"
)

// Builtin are the kinds that every node knows.
var Builtin = []string{KindGateway, KindDNS, KindAPI, KindNode}

// Probe is one proof.
type Probe struct {
	Kind string `json:"kind"`
	// Name tells custom probes apart; the kind names the others.
	Name string `json:"name,omitempty"`
	// Endpoint is what must answer, for KindAPI, KindNode and KindCustom.
	Endpoint *Endpoint `json:"endpoint,omitempty"`
	// Gateways are next hops that the document itself names, instead of those that run.
	Gateways []Gateway `json:"gateways,omitempty"`
	// TimeoutSeconds is how long a custom probe may take to pass, all tries together; 0 takes that of the suite.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
}

// Gateway is a next hop and the interface that leads to it.
type Gateway struct {
	Address   string `json:"address"`
	Interface string `json:"interface,omitempty"`
}

// Endpoint is host.Endpoint as requests store it.
type Endpoint struct {
	Type       string `json:"type"`
	Target     string `json:"target"`
	StatusCode []int  `json:"statusCodes,omitempty"`
	CABundle   string `json:"caBundle,omitempty"`
	SkipVerify bool   `json:"insecureSkipVerify,omitempty"`
}

// Title is the name of the probe in evidence.
func (p Probe) Title() string { return cmp.Or(p.Name, p.Kind) }

// Target is what is asked; empty where that follows from the network at the time.
func (p Probe) Target() string {
	switch {
	case p.Endpoint != nil:
		return p.Endpoint.Target
	case len(p.Gateways) > 0:
		return p.Gateways[0].Address
	}
	return ""
}

func (p Probe) String() string {
	if target := p.Target(); target != "" {
		return fmt.Sprintf("probe %s (%s)", p.Title(), target)
	}
	return "probe " + p.Title()
}

// Observer reads the network that runs.
type Observer interface {
	Observe(ctx context.Context) (netstate.Document, error)
}

// tryTimeout bounds one try of one probe.
const tryTimeout = 2 * time.Second

// probeOnce asks one time.
func (s Suite) probeOnce(ctx context.Context, p Probe, now netstate.Document) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	switch p.Kind {
	case KindGateway:
		return s.probeGateway(ctx, p, now)
	case KindDNS:
		return s.probeDNS(ctx, now)
	}
	if p.Endpoint == nil {
		return fmt.Errorf("probe of kind %q names no endpoint", p.Kind)
	}
	return s.Prober.Reach(ctx, host.Endpoint{
		Kind: p.Endpoint.Type, Target: p.Endpoint.Target, StatusCodes: p.Endpoint.StatusCode,
		CABundle: []byte(p.Endpoint.CABundle), SkipVerify: p.Endpoint.SkipVerify,
	})
}

// probeGateway asks every next hop that the document names and, where it names none, those that run: one answer suffices
// there, because a node may have a default route of each family and only ever used one.
func (s Suite) probeGateway(ctx context.Context, p Probe, now netstate.Document) error {
	for _, g := range p.Gateways {
		addr, err := netip.ParseAddr(g.Address)
		if err != nil {
			return fmt.Errorf("next hop %q is no address: %w", g.Address, err)
		}
		if err := s.Prober.Gateway(ctx, addr, g.Interface); err != nil {
			return fmt.Errorf("gateway %s through %s: %w", addr, g.Interface, err)
		}
	}
	if len(p.Gateways) > 0 {
		return nil
	}
	return s.probeRunningGateway(ctx, now)
}

func (s Suite) probeRunningGateway(ctx context.Context, now netstate.Document) error {
	err := errors.New("there is no default route")
	for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
		route, ok := netstate.DefaultRoute(now, f, "")
		if !ok {
			continue
		}
		addr, perr := netip.ParseAddr(route.NextHopAddress)
		if perr != nil {
			continue
		}
		gerr := s.Prober.Gateway(ctx, addr, route.NextHopInterface)
		if gerr == nil {
			return nil
		}
		err = fmt.Errorf("gateway %s through %s: %w", addr, route.NextHopInterface, gerr)
	}
	return err
}

// probeDNS asks the running servers, all at the same time; one answer suffices.
func (s Suite) probeDNS(ctx context.Context, now netstate.Document) error {
	var servers []netip.Addr
	if now.DNS != nil && now.DNS.Running != nil {
		for _, text := range now.DNS.Running.Server {
			if addr, err := netip.ParseAddr(text); err == nil {
				servers = append(servers, addr)
			}
		}
	}
	if len(servers) == 0 {
		return errors.New("there is no name server")
	}
	answers := make(chan error, len(servers))
	for _, server := range servers {
		go func() { answers <- s.Prober.DNS(ctx, server) }()
	}
	var last error
	for range servers {
		if last = <-answers; last == nil {
			return nil
		}
	}
	return last
}
