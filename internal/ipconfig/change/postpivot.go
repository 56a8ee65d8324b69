package change

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// maxAttemptsPostPivot is how often post-pivot is begun before it is given up.
const maxAttemptsPostPivot = 5

// PostPivot finishes the change in the new stateroot.
type PostPivot struct {
	Files       host.Files
	Deployments host.Deployments
	OneTimeBoot host.OneTimeBoot
	Network     host.Network
	Prober      host.Prober
	Units       host.Units
	Power       host.Power
	Recert      bringup.Recert
	Cluster     bringup.Cluster
	Clock       flow.Clock
	Log         *slog.Logger

	Request ipconfig.Request
	Auto    ipconfig.AutoRollback
	// Note journals a fact.
	Note func(flow, message string, deadline time.Time) error
	// Endless: it never gives up, because automatic rollback is switched off or no stateroot is left to go back to. It
	// then succeeds once an administrator has repaired the cause.
	Endless bool
}

// Plan lists the steps of post-pivot. It never rolls back its steps: the next run continues a failed one, and giving up
// boots the old stateroot, which nothing here touches.
func (p *PostPivot) Plan() flow.Plan {
	attempts := maxAttemptsPostPivot
	if p.Endless {
		attempts = 0
	}
	dns := p.localDNS()
	plan := flow.Plan{
		Name: ipconfig.FlowPostPivot, Commit: flow.FromStart, MaxAttempts: attempts, AcrossBoots: true,
		Steps: []flow.Step{
			stateroot.CheckSeal(p.Files, p.Deployments),
			bringup.ApplyNetwork(p.Network, p.Files, ipconfig.NMStateFile, p.newProof()),
			bringup.RunRecert(p.Recert, p.recertImage, p.noteRecert),
			bringup.StartKubelet(p.Units, dns),
			bringup.WaitAPI(p.Cluster, dns),
			bringup.ProveNetwork(p.lastProof(), dns),
			bringup.WaitNode(p.Cluster, p.Power, dns),
			bringup.RunProbes(p.Prober, p.Clock, p.Request.Probes),
			stateroot.KeepDefault(p.Deployments, p.OneTimeBoot),
			{Name: ipconfig.StepDisarm, Title: "Disarm the watchdog", Do: p.disarmWatchdog},
			{Name: ipconfig.StepWipe, Title: "Wipe the secrets", Do: p.wipeSecretsAndLog},
		},
	}
	for i, s := range plan.Steps {
		plan.Steps[i] = p.reporting(s)
	}
	return plan
}

func (p *PostPivot) recertImage() (host.RecertImage, error) { return chosenImage(p.Files) }

func (p *PostPivot) noteRecert(message string) error {
	return p.Note(ipconfig.FlowPostPivot, message, time.Time{})
}

func (p *PostPivot) newProof() bringup.Proof {
	return bringup.Proof{Prober: p.Prober, Clock: p.Clock, Site: p.siteWithAPIName}
}

// lastProof also notes the DNS servers that do not answer, beside others that do.
func (p *PostPivot) lastProof() bringup.Proof {
	proof := p.newProof()
	proof.Warn = func(message string) error { return p.Note(ipconfig.FlowPostPivot, message, time.Time{}) }
	return proof
}

// siteWithAPIName is the request's, with the name of the API server: a DNS server without the Internet may know no other.
func (p *PostPivot) siteWithAPIName() (bringup.Site, error) {
	s, err := p.Request.Site()
	if name := bringup.APIName(p.Files); name != "" {
		s.Names = append(s.Names, name)
	}
	return s, err
}

func (p *PostPivot) localDNS() bringup.LocalDNS {
	return bringup.LocalDNS{
		Units: p.Units, Files: p.Files, Prober: p.Prober, Clock: p.Clock, Log: p.Log, Site: p.Request.Site,
		Addresses: func() (own []netip.Addr, err error) {
			families, err := p.Request.Families()
			for _, f := range families {
				own = append(own, f.Address)
			}
			return own, err
		},
	}
}

// disarmWatchdog records that the change is proved, which the watchdog reads, and keeps the watchdog from starting again. What can be
// reached can be repaired by a person, and in disaster recovery the old network is dead: from here on nothing rolls back by
// itself, unless that was asked for. The watchdog is not stopped here: one that is at its limit stops this service.
func (p *PostPivot) disarmWatchdog(ctx context.Context) error {
	now := p.Clock.Now().UTC().Truncate(time.Second)
	h := ipconfig.Health{OperationID: p.Request.OperationID, Missing: ipconfig.NotReported, Since: now}
	if err := ipconfig.WriteHealth(p.Files, h); err != nil {
		return fmt.Errorf("record that the change is proved: %w", err)
	}
	if p.Auto.HealthEnabled() || !p.Request.InstallInitMonitor {
		return nil
	}
	if err := p.Units.Disable(ctx, ipconfig.UnitInitMonitor); err != nil {
		return fmt.Errorf("disarm %s: %w", ipconfig.UnitInitMonitor, err)
	}
	return nil
}

// wipeSecretsAndLog also removes the log of a recert image: it serves to explain a failure, and may hold any secret.
func (p *PostPivot) wipeSecretsAndLog(context.Context) error {
	return wipeSecrets(p.Files, host.RecertContainerLog)
}

// chosenImage is the image that the operation runs recert in; an empty name selects the native engine.
func chosenImage(files host.Files) (host.RecertImage, error) {
	post, err := ipconfig.ReadPostPivot(files)
	if err != nil || post.RecertImage == "" {
		return host.RecertImage{}, err
	}
	if err := bringup.CheckImage(post.RecertImage); err != nil {
		return host.RecertImage{}, flow.Permanent(fmt.Errorf("%s: %w", ipconfig.PostPivotFile, err))
	}
	return host.RecertImage{Name: post.RecertImage, AuthFile: host.RecertPullSecret}, nil
}

// fetchImage fetches the image while the network is known to work, and before anything is made or stopped.
func (p *PrePivot) fetchImage(ctx context.Context) error {
	image, err := chosenImage(p.Files)
	if err != nil || image.Name == "" {
		return err
	}
	return p.Recert.Fetch(ctx, image)
}

// FetchImage puts an image of recert onto the node, ahead of a change.
func (n Ports) FetchImage(ctx context.Context, image host.RecertImage) error {
	return n.recertEngines().Fetch(ctx, image)
}

func (n Ports) recertEngines() bringup.Recert {
	return bringup.Recert{Native: n.Recert, Images: n.RecertImages, Files: n.Files}
}
