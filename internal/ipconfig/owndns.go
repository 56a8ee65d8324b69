package ipconfig

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// The node's own DNS server tells kubelet where the API server is, and it listens address by address. When br-ex
// takes the address over from the uplink, dnsmasq (2.91, bind-dynamic) may miss that the address came back: it then
// listens on the loopback interface alone, for good, and kubelet waits for a name that nobody gives it. Started anew
// it finds every address.
const (
	// dnsPatience is how long it may take to follow an address that moves, or to start.
	dnsPatience = 3 * time.Second
	// dnsPause lies between two looks at it while something else is waited for.
	dnsPause = 20 * time.Second
	portDNS  = 53
)

// proveOwnDNS waits until the node's own DNS server listens where the node's programs look for it.
func (p *PostPivot) proveOwnDNS(ctx context.Context) error {
	return p.until(ctx, proofTimeout, time.Second, p.mendOwnDNS)
}

// mendOwnDNS starts the node's own DNS server anew where it does not listen.
func (p *PostPivot) mendOwnDNS(ctx context.Context) error {
	deaf := p.hearOwnDNS(ctx)
	if deaf == nil {
		return nil
	}
	s, err := p.Node.Units.State(ctx, host.UnitDnsmasq)
	if err != nil || !s.Exists() {
		return errors.Join(deaf, err)
	}
	p.Node.Log.Warn("the node's own DNS server does not listen, it is started anew", "unit", host.UnitDnsmasq, "error", deaf)
	if err := p.Node.Units.Stop(ctx, host.UnitDnsmasq); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitDnsmasq, err)
	}
	if err := p.Node.Units.Start(ctx, host.UnitDnsmasq); err != nil {
		return fmt.Errorf("start %s: %w", host.UnitDnsmasq, err)
	}
	return p.hearOwnDNS(ctx)
}

func (p *PostPivot) hearOwnDNS(ctx context.Context) error {
	return p.until(ctx, dnsPatience, 500*time.Millisecond, p.askOwnDNS)
}

// askOwnDNS asks for a connection only: whether upstream servers answer is not this server's fault.
func (p *PostPivot) askOwnDNS(ctx context.Context) error {
	servers, err := p.ownServers()
	if err != nil {
		return err
	}
	var questions []func() error
	for _, s := range servers {
		at := netip.AddrPortFrom(s, portDNS).String()
		questions = append(questions, func() error {
			if err := p.Node.Prober.Reach(ctx, host.Endpoint{Kind: host.EndpointTCP, Target: at}); err != nil {
				return fmt.Errorf("%s names %s, where %s does not listen: %w", host.ResolvConf, s, host.UnitDnsmasq, err)
			}
			return nil
		})
	}
	return askAll(questions)
}

// ownServers are the node's addresses among the name servers that its programs ask.
func (p *PostPivot) ownServers() (own []netip.Addr, err error) {
	families, err := p.Request.Families()
	if err != nil {
		return nil, err
	}
	data, err := p.Node.Files.Read(host.ResolvConf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", host.ResolvConf, err)
	}
	for _, server := range nameServers(data) {
		if slices.ContainsFunc(families, func(f Family) bool { return f.Address == server }) {
			own = append(own, server)
		}
	}
	return own, nil
}

// nameServers reads resolv.conf(5).
func nameServers(resolvConf []byte) (servers []netip.Addr) {
	lines := bufio.NewScanner(bytes.NewReader(resolvConf))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(words[1]); err == nil {
			servers = append(servers, a.Unmap())
		}
	}
	return servers
}

// mindingDNS looks after the node's own DNS server while something is waited for that may need it. How it fares is
// part of why the wait is in vain.
func (p *PostPivot) mindingDNS(try func(context.Context) error) func(context.Context) error {
	looked := p.Node.Clock.Now()
	var deaf error
	return func(ctx context.Context) error {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if now := p.Node.Clock.Now(); now.Sub(looked) >= dnsPause {
			looked, deaf = now, p.mendOwnDNS(ctx)
		}
		return errors.Join(err, deaf)
	}
}
