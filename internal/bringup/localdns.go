package bringup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// LocalDNS is the node's own DNS server, which resolves the name of the API server for kubelet. It listens address by address.
// When br-ex takes the address over from the uplink, dnsmasq (2.91, bind-dynamic) may miss that the address came back:
// it then listens on the loopback interface alone, for good, and kubelet waits for a name that never resolves. After
// a restart it finds every address.
type LocalDNS struct {
	Units  host.Units
	Files  host.Files
	Prober host.Prober
	Clock  flow.Clock
	Log    *slog.Logger
	// Addresses are the node's own; read when they are needed.
	Addresses func() ([]netip.Addr, error)
	// Site has the DNS servers that the node's own one asks, and names that they know; nil where they are not compared.
	Site func() (Site, error)
}

const (
	// dnsTimeout is how long it may take to follow an address that moves, or to start.
	dnsTimeout = 3 * time.Second
	// dnsInterval lies between two checks while a step waits for something else.
	dnsInterval = 20 * time.Second
	// reportInterval lies between two reports of what a step still waits for.
	reportInterval = time.Minute
	portDNS        = 53
)

// Await waits until the server listens where the node's programs expect it.
func (d LocalDNS) Await(ctx context.Context) error {
	return pollUntil(ctx, d.Clock, wait{proofTimeout, time.Second}, d.Ensure)
}

// Ensure restarts the server where it does not listen.
func (d LocalDNS) Ensure(ctx context.Context) error {
	silent := d.awaitListening(ctx)
	if silent == nil {
		return nil
	}
	s, err := d.Units.State(ctx, host.UnitDnsmasq)
	if err != nil || !s.Exists() {
		return errors.Join(silent, err)
	}
	d.Log.Warn("the node's own DNS server does not listen and is restarted", "unit", host.UnitDnsmasq, "error", silent)
	if err := d.Units.Stop(ctx, host.UnitDnsmasq); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitDnsmasq, err)
	}
	if err := d.Units.Start(ctx, host.UnitDnsmasq); err != nil {
		return fmt.Errorf("start %s: %w", host.UnitDnsmasq, err)
	}
	return d.awaitListening(ctx)
}

func (d LocalDNS) awaitListening(ctx context.Context) error {
	return pollUntil(ctx, d.Clock, wait{dnsTimeout, 500 * time.Millisecond}, d.checkListening)
}

// checkListening connects only: it is not this server's fault when upstream servers do not answer.
func (d LocalDNS) checkListening(ctx context.Context) error {
	servers, err := d.ownServers()
	if err != nil {
		return err
	}
	var questions []func() error
	for _, s := range servers {
		at := netip.AddrPortFrom(s, portDNS).String()
		questions = append(questions, func() error {
			if err := d.Prober.Reach(ctx, host.Endpoint{Kind: host.EndpointTCP, Target: at}); err != nil {
				return fmt.Errorf("%s names %s, where %s does not listen: %w", host.ResolvConf, s, host.UnitDnsmasq, err)
			}
			return nil
		})
	}
	return askAll(questions)
}

// ProveForwarding waits until the node's own servers answer over UDP what a DNS server of the site answers: that is how kubelet
// and pods resolve names. What no server of the site answers proves nothing about the node's.
func (d LocalDNS) ProveForwarding(ctx context.Context) error {
	if d.Site == nil {
		return nil
	}
	site, err := d.Site()
	if err != nil {
		return err
	}
	return pollUntil(ctx, d.Clock, wait{proofTimeout, time.Second}, func(ctx context.Context) error {
		own, err := d.ownServers()
		if err != nil {
			return err
		}
		failed := errors.Join(d.askServers(ctx, own, site.Names)...)
		if failed == nil || !slices.Contains(d.askServers(ctx, site.DNS, site.Names), nil) {
			return nil
		}
		return fmt.Errorf("the DNS servers of the site answer, and %s, which %s names for the node's programs, does not: %w",
			host.UnitDnsmasq, host.ResolvConf, failed)
	})
}

// askServers asks all at once. There is an answer for each, nil for a good one.
func (d LocalDNS) askServers(ctx context.Context, servers []netip.Addr, names []string) []error {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	answers := make([]error, len(servers))
	var questions []func() error
	for i, s := range servers {
		questions = append(questions, func() error {
			answers[i] = d.Prober.DNS(ctx, s, names...)
			return nil
		})
	}
	_ = askAll(questions) // answers has each error
	return answers
}

// ownServers are the node's addresses among the name servers that its programs ask.
func (d LocalDNS) ownServers() (own []netip.Addr, err error) {
	addresses, err := d.Addresses()
	if err != nil {
		return nil, fmt.Errorf("read the addresses of the request: %w", err)
	}
	data, err := d.Files.Read(host.ResolvConf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", host.ResolvConf, err)
	}
	for _, server := range nameServers(data) {
		if slices.Contains(addresses, server) {
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

// withDNSCheck returns try with a check of the server every dnsInterval, for waits that may depend on it. The server's
// trouble is part of the error. What the wait is for goes to the log every reportInterval.
func (d LocalDNS) withDNSCheck(try func(context.Context) error) func(context.Context) error {
	checked, reported := d.Clock.Now(), d.Clock.Now()
	var dnsErr error
	return func(ctx context.Context) error {
		err := try(ctx)
		if err == nil {
			return nil
		}
		now := d.Clock.Now()
		if now.Sub(checked) >= dnsInterval {
			checked, dnsErr = now, d.Ensure(ctx)
		}
		if now.Sub(reported) >= reportInterval {
			reported = now
			d.Log.Warn("still waiting for the cluster", "error", err)
		}
		return errors.Join(err, dnsErr)
	}
}
