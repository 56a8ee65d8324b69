package onsite

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// maxAttempts is how often a reconfiguration is begun before the node goes back.
const maxAttempts = 6

// Reconfiguration applies one site configuration.
type Reconfiguration struct {
	Ports
	Record  relocation.Record
	Request relocation.Request
	// Note journals a fact.
	Note func(flow, message string, deadline time.Time) error
}

// Plan lists the steps. Up to apply-network a failure leaves the node as it was shipped, waiting for another
// configuration: the network proves itself before it is written to disk. After it the way back is the factory's
// stateroot, which nothing here touches; no step has an undo.
func (p *Reconfiguration) Plan() flow.Plan {
	dns := p.localDNS()
	steps := []flow.Step{
		stateroot.CheckSeal(p.Files, p.Deployments),
		{Name: relocation.StepAccept, Title: "Check the configuration against this node", Do: p.acceptConfig, Undo: p.discardAccepted},
		{Name: relocation.StepConnections, Title: "Bring up and prove the site's connections", Do: p.applyConnections,
			Undo: p.revertConnections},
		bringup.ApplyNetwork(p.Network, p.Files, relocation.NMStateFile, p.firstProof()),
		{Name: relocation.StepArm, Title: "Arm the watchdog", Do: p.armWatchdog},
		{Name: relocation.StepHostname, Title: "Set the node's name", Do: p.setHostname},
		{Name: relocation.StepHostKeys, Title: "Set the node's SSH host keys", Do: p.setHostKeys},
		{Name: relocation.StepDNS, Title: "Have the node resolve the cluster's names", Do: p.setLocalDNS},
		bringup.RunRecert(bringup.Recert{Native: p.Recert, Images: p.RecertImages, Files: p.Files}, nativeRecert, p.journalNote),
		p.releaseStep(),
		bringup.StartKubelet(p.Units, dns),
		bringup.WaitAPI(p.Cluster, dns),
		bringup.ProveNetwork(p.lastProof(), dns),
		bringup.WaitNode(p.Cluster, p.Power, dns),
	}
	for _, part := range reconcile.Parts() {
		steps = append(steps, p.applyStep(part))
	}
	return flow.Plan{
		Name: relocation.FlowReconfigure, Commit: bringup.StepApplyNetwork, MaxAttempts: maxAttempts, AcrossBoots: true,
		Steps: append(steps,
			bringup.WaitHealthy(p.checkHealth, p.Clock),
			flow.Step{Name: relocation.StepReport, Title: "Write the report and the hand-over file", Do: p.writeReport},
			flow.Step{Name: relocation.StepWipe, Title: "Wipe the secrets", Do: p.wipeSecrets},
		),
	}
}

func (p *Reconfiguration) checkHealth(ctx context.Context) error { return p.Cluster.Healthy(ctx) }

// nativeRecert: the native engine needs no image, and thus no registry.
func nativeRecert() (host.RecertImage, error) { return host.RecertImage{}, nil }

func (p *Reconfiguration) journalNote(message string) error {
	return p.Note(relocation.FlowReconfigure, message, time.Time{})
}

func (p *Reconfiguration) networkProof() bringup.Proof {
	return bringup.Proof{Prober: p.Prober, Clock: p.Clock, Site: p.proofSite}
}

func (p *Reconfiguration) lastProof() bringup.Proof {
	proof := p.networkProof()
	proof.Warn = p.journalNote
	return proof
}

// proofSite is what must answer: the gateways of the node's own networks, and the DNS servers.
func (p *Reconfiguration) proofSite() (s bringup.Site, err error) {
	c, err := p.readConfig()
	if err != nil || c.Network == nil && len(c.Connections) == 0 {
		return s, err
	}
	for _, connection := range c.ConnectionList() {
		s.Gateways = append(s.Gateways, connection.Gateways...)
	}
	if c.Network != nil && c.Network.Routes != nil {
		for _, r := range c.Network.Routes.Config {
			if a, err := netip.ParseAddr(r.NextHopAddress); err == nil && isDefaultRoute(r) {
				s.Gateways = append(s.Gateways, a)
			}
		}
	}
	for _, server := range dnsServers(c) {
		if a, err := netip.ParseAddr(server); err == nil {
			s.DNS = append(s.DNS, a)
		}
	}
	s.Names = p.dnsNames(c)
	return s, nil
}

// dnsNames are those that a DNS server of the site may be expected to know: one without the Internet refuses to speak of others.
func (p *Reconfiguration) dnsNames(c siteconfig.SiteConfig) (out []string) {
	if domain := c.ClusterDomain(); domain != "" {
		out = append(out, "api."+domain)
	} else if name := bringup.APIName(p.Files); name != "" {
		out = append(out, name)
	}
	for _, ca := range c.RegistryCAs {
		out = append(out, ca.Hostname)
	}
	for _, mirrors := range [][]siteconfig.ImageMirror{c.ImageContentSources, c.ImageDigestMirrors, c.ImageTagMirrors} {
		for _, m := range mirrors {
			for _, mirror := range m.Mirrors {
				out = append(out, registryName(mirror))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(slices.DeleteFunc(out, isAddress))
}

// registryName is the host of an image or repository: registry.example.org:5000/a/b.
func registryName(image string) string {
	at, _, _ := strings.Cut(image, "/")
	if name, _, found := strings.Cut(at, ":"); found && !strings.HasPrefix(at, "[") {
		return name
	}
	return at
}

// isAddress: an address needs no DNS server.
func isAddress(name string) bool {
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil || name == "" || strings.HasPrefix(name, "[")
}

func (p *Reconfiguration) localDNS() bringup.LocalDNS {
	return bringup.LocalDNS{
		Units: p.Units, Files: p.Files, Prober: p.Prober, Clock: p.Clock, Log: p.Log,
		Addresses: func() ([]netip.Addr, error) {
			c, err := p.readConfig()
			if err != nil {
				return nil, err
			}
			return p.nodeAddresses(c), nil
		},
	}
}

// readConfigWithID is the configuration with the cluster's ID.
func (p *Reconfiguration) readConfigWithID() (siteconfig.SiteConfig, error) {
	c, err := p.readConfig()
	if err != nil {
		return c, err
	}
	return p.withClusterID(c)
}

// readConfig reads the configuration that was accepted.
func (p *Reconfiguration) readConfig() (siteconfig.SiteConfig, error) {
	data, err := p.Files.Read(relocation.SiteConfigFile)
	if err != nil {
		return siteconfig.SiteConfig{}, fmt.Errorf("read the site configuration: %w", err)
	}
	c, problems := siteconfig.Decode(data)
	return c, problemsError(problems)
}

// problemsError joins all problems of a configuration; nil for none. No retry mends it.
func problemsError(problems []siteconfig.Problem) error {
	var errs []error
	for _, p := range problems {
		errs = append(errs, errors.New(p.String()))
	}
	if len(errs) == 0 {
		return nil
	}
	return flow.Permanent(fmt.Errorf("the site configuration cannot be used: %w", errors.Join(errs...)))
}
