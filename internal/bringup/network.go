package bringup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Step names, as journals store them.
const (
	StepApplyNetwork = "apply-network"
	StepRecert       = "recert"
	StepStartKubelet = "start-kubelet"
	StepWaitAPI      = "wait-for-api"
	StepProveNetwork = "prove-network"
	StepWaitNode     = "wait-for-node"
	StepRunProbes    = "run-probes"
)

// Site is what must answer on the new network: each gateway, and of the DNS servers one of each family.
type Site struct {
	Gateways, DNS []netip.Addr
	// Names are such as the site's DNS servers are expected to serve.
	Names []string
}

// Proof proves that the network carries traffic.
type Proof struct {
	Prober host.Prober
	Clock  flow.Clock
	// Site is read when the proof is made.
	Site func() (Site, error)
	// Warn receives what does not answer and need not; nil discards it.
	Warn func(string) error
}

// Over waits until gateways and DNS servers answer through the interface.
func (p Proof) Over(ctx context.Context, iface string) error {
	var dead []error
	err := pollUntil(ctx, p.Clock, wait{proofTimeout, time.Second}, func(ctx context.Context) (err error) {
		dead, err = p.probeOnce(ctx, iface)
		return err
	})
	if err != nil || len(dead) == 0 || p.Warn == nil {
		return err
	}
	return p.Warn(DNSWarning + strings.ReplaceAll(errors.Join(dead...).Error(), "\n", "; "))
}

// DNSWarning begins the note about DNS servers that do not serve the node, beside others that do.
const DNSWarning = "not every DNS server serves the node: "

// probeOnce asks everything at once, so that one dead server does not use up the time of the others, and the error names
// each that is silent. dead are the DNS servers that others of their family make up for.
func (p Proof) probeOnce(ctx context.Context, iface string) (dead []error, err error) {
	site, err := p.Site()
	if err != nil {
		return nil, err
	}
	var questions []func() error
	for _, gateway := range site.Gateways {
		questions = append(questions, func() error { return p.Prober.Gateway(ctx, gateway, iface) })
	}
	answers := make([]error, len(site.DNS))
	for i, server := range site.DNS {
		questions = append(questions, func() error {
			answers[i] = p.Prober.DNS(ctx, server, site.Names...)
			return nil
		})
	}
	err = askAll(questions)
	dead, failed := judgeServers(site.DNS, answers)
	return dead, errors.Join(err, failed)
}

// judgeServers parts the failures: of a family one server that answers suffices.
func judgeServers(servers []netip.Addr, answers []error) (dead []error, failed error) {
	served := map[bool]bool{} // by whether it is IPv4
	for i, server := range servers {
		if answers[i] == nil {
			served[server.Unmap().Is4()] = true
		}
	}
	var failures []error
	for i, server := range servers {
		switch {
		case answers[i] == nil:
		case served[server.Unmap().Is4()]:
			dead = append(dead, answers[i])
		default:
			failures = append(failures, answers[i])
		}
	}
	return dead, errors.Join(failures...)
}

// ConfiguredFile is the nmstate document that this stateroot was last configured with by an operation on the whole node. Network
// policies from before that operation do not overwrite it.
const ConfiguredFile = host.StateDir + "/network/configured.yaml"

// ReadConfigured reads ConfiguredFile; false where no operation configured the stateroot.
func ReadConfigured(files host.Files) (d netstate.Document, found bool, err error) {
	d, err = readDocument(files, ConfiguredFile)
	if errors.Is(err, fs.ErrNotExist) {
		return d, false, nil
	}
	return d, err == nil, err
}

func recordConfigured(files host.Files, document string) error {
	data, err := files.Read(document)
	if err != nil {
		return fmt.Errorf("read %s: %w", document, err)
	}
	if err := files.Write(ConfiguredFile, data, 0o600); err != nil {
		return fmt.Errorf("record the network of this stateroot: %w", err)
	}
	return nil
}

// ApplyNetwork puts the network of the nmstate document in place, and records it as ConfiguredFile. The step proves it before a single
// file is changed: a network that reaches neither gateway nor DNS never outlives this step.
func ApplyNetwork(network host.Network, files host.Files, document string, proof Proof) flow.Step {
	return flow.Step{
		Name: StepApplyNetwork, Title: "Apply and prove the new network", Tries: 2, Pause: 5 * time.Second,
		Do: func(ctx context.Context) error {
			if err := network.Recover(ctx); err != nil {
				return fmt.Errorf("settle an interrupted network change: %w", err)
			}
			doc, err := readDocument(files, document)
			if err != nil {
				return err
			}
			carrier := carrierOf(doc)
			prove := func(ctx context.Context) error {
				if err := proof.Over(ctx, carrier); err != nil {
					return flow.Permanent(err) // the proof has waited long enough by itself
				}
				return nil
			}
			if err := network.Apply(ctx, doc, prove); err != nil {
				return fmt.Errorf("apply the new network to %s: %w", carrier, errors.Join(err, proof.findAddressConflict(ctx, doc,
					carrier)))
			}
			return recordConfigured(files, document)
		},
	}
}

// findAddressConflict names another machine that has an address of the document. It is asked for once the network could not be applied:
// NetworkManager does not say why.
func (p Proof) findAddressConflict(ctx context.Context, doc netstate.Document, carrier string) error {
	for _, i := range doc.Interfaces {
		if i.Name != carrier {
			continue
		}
		for _, address := range addressesOf(i) {
			claim, err := p.Prober.InUse(ctx, address, carrier)
			if err == nil && claim.Hardware != "" && !claim.Proxy {
				return fmt.Errorf("%s is in use by the machine with hardware address %s", address.Addr(), claim.Hardware)
			}
		}
	}
	return nil
}

func addressesOf(i netstate.Interface) (out []netip.Prefix) {
	for _, ip := range []*netstate.IP{i.IPv4, i.IPv6} {
		if ip == nil {
			continue
		}
		for _, a := range ip.Addresses {
			if at, err := netip.ParseAddr(a.IP); err == nil {
				out = append(out, netip.PrefixFrom(at, a.PrefixLength))
			}
		}
	}
	return out
}

func readDocument(files host.Files, file string) (netstate.Document, error) {
	data, err := files.Read(file)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("read %s: %w", file, err)
	}
	doc, err := netstate.Decode(data)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("decode %s: %w", file, err)
	}
	return doc, nil
}

// carrierOf is the interface that the document gives addresses to.
func carrierOf(doc netstate.Document) string {
	for _, i := range doc.Interfaces {
		if i.IPv4.On() || i.IPv6.On() {
			return i.Name
		}
	}
	return ""
}

// ProveNetwork proves the network once more, now that br-ex carries it, and that the node's own DNS server listens and forwards.
func ProveNetwork(proof Proof, dns LocalDNS) flow.Step {
	return flow.Step{
		Name: StepProveNetwork, Title: "Prove the network under the cluster", Again: true,
		Do: func(ctx context.Context) error {
			if err := proof.Over(ctx, host.BridgeExternal); err != nil {
				return err
			}
			if err := dns.Await(ctx); err != nil {
				return err
			}
			return dns.ProveForwarding(ctx)
		},
	}
}
