package change

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Preview is what a change would do, found out without touching anything.
type Preview struct {
	OldStateroot string `json:"oldStateroot"`
	NewStateroot string `json:"newStateroot"`
	// AddressChanges reads "old -> new", one for each family that changes.
	AddressChanges []string `json:"addressChanges"`
	NMState        string   `json:"nmstate"`
	// Extras says of each other address and static route of the uplink whether it is kept, and why not.
	Extras []string `json:"extras,omitempty"`
	// NodeIPHint is what becomes of NODEIP_HINT and KUBELET_NODEIP_HINT; empty where the node has neither.
	NodeIPHint string `json:"nodeIPHint,omitempty"`
	// FileMentions are lines of the node's own files that name an address which the change leaves, as "file:line names address".
	FileMentions   []string `json:"fileMentions,omitempty"`
	DiskNeedBytes  int64    `json:"diskNeedBytes"`
	DiskFreeBytes  int64    `json:"diskFreeBytes"`
	DiskNeedInodes int64    `json:"diskNeedInodes"`
	// The cluster is down between these two steps.
	OutageFrom string        `json:"outageFrom"`
	OutageTo   string        `json:"outageTo"`
	Steps      []PreviewStep `json:"steps"`
	// OutageSeconds is how long that took the last time on this node; 0 where there was none, or none is on record.
	OutageSeconds int64 `json:"outageSeconds,omitempty"`
	// Recert is what would be rewritten; nil where RecertUnknown says why that is not known.
	Recert        *Forecast `json:"recert,omitempty"`
	RecertUnknown string    `json:"recertUnknown,omitempty"`
	// Checks are those that the agent makes before a change; Refusal is what it would say.
	Checks  []lcav1.PreflightCheck `json:"checks"`
	Refusal string                 `json:"refusal,omitempty"`
	// Probes are the user's questions, each with its target.
	Probes []string `json:"probes,omitempty"`
	// Request is what the node would be asked for.
	Request ipconfig.Request `json:"-"`
}

// PreviewStep is one step as it would run.
type PreviewStep struct {
	Flow  string `json:"flow"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Proposal is a change to preview.
type Proposal struct {
	Spec lcav1.IPConfigSpec
	// Prepared is the request where the change was handed to the node already; nil where it was not.
	Prepared *ipconfig.Request
}

// MakePreview plans a change without carrying it out. What cannot be known is reported in its place, and of a change that the
// checks refuse as much as there is.
func MakePreview(ctx context.Context, n Ports, proposal Proposal) (Preview, error) {
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return Preview{}, fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return Preview{}, fmt.Errorf("find the booted deployment: %w", err)
	}
	now, err := n.Network.Observe(ctx)
	if err != nil {
		return Preview{}, fmt.Errorf("observe the node's network: %w", err)
	}
	f := n.gatherFacts(ctx, booted.Stateroot, now)
	r := ipconfig.BuildRequest("preview", booted.Stateroot, proposal.Spec, f.Current)
	if proposal.Prepared != nil {
		r = *proposal.Prepared
	}
	uplink, want, renderErr := renderNetwork(ctx, n.Switch, r, now)
	pair := stateroot.Pair{Old: booted.Stateroot, New: r.NewStateroot}
	if err := n.newSurveyor().Measure(ctx, proposal.Spec, pair, want, &f); err != nil {
		return Preview{}, fmt.Errorf("measure the node: %w", err)
	}
	p := Preview{
		OldStateroot: booted.Stateroot, NewStateroot: r.NewStateroot,
		DiskNeedBytes: f.Need.Bytes, DiskFreeBytes: f.Free.Bytes, DiskNeedInodes: f.Need.Inodes,
		OutageFrom: ipconfig.StepQuiesce, OutageTo: ipconfig.StepWaitAPI, OutageSeconds: int64(LastOutage(n.Files).Seconds()),
		AddressChanges: addressChanges(r, presentAddresses(n.Files)), Steps: allSteps(),
		Request: r,
	}
	if renderErr == nil {
		renderErr = p.addNetwork(ctx, n, r, uplink, want)
	} else {
		p.RecertUnknown = "the request is not one that could be carried out"
	}
	if image, err := chosenImage(n.Files); err == nil && proposal.Prepared != nil {
		f.RecertImage = image.Name
	}
	p.runChecks(proposal, f)
	for _, probe := range r.Probes {
		p.Probes = append(p.Probes, probe.String())
	}
	if renderErr != nil && p.Refusal == "" {
		return Preview{}, fmt.Errorf("render the change: %w", renderErr)
	}
	return p, nil
}

// runChecks makes the checks, now that recert's forecast is known too.
func (p *Preview) runChecks(proposal Proposal, f preflight.Facts) {
	switch {
	case p.Recert != nil:
		f.RecertBlocked = p.Recert.Blocked
		delete(f.Unknown, preflight.CheckRecertPlan)
	case p.RecertUnknown != "":
		f.Unknown[preflight.CheckRecertPlan] = p.RecertUnknown
	}
	p.Checks = preflight.Validate(proposal.Spec, f)
	if refusal := preflight.Refusal(p.Checks); refusal != nil {
		p.Refusal = refusal.Error()
	}
}

// renderNetwork is the network as it is to be, and what br-ex lies on now.
func renderNetwork(
	ctx context.Context, sw host.Switch, r ipconfig.Request, now netstate.Document,
) (network.Uplink, netstate.Document, error) {
	uplink, err := network.Find(ctx, sw, now)
	if err != nil {
		return uplink, netstate.Document{}, err
	}
	doc, err := network.Render(r, uplink)
	return uplink, doc, err
}

// addNetwork adds what would be written.
func (p *Preview) addNetwork(ctx context.Context, n Ports, r ipconfig.Request, uplink network.Uplink, doc netstate.Document) error {
	families, err := r.Families()
	if err != nil {
		return err
	}
	p.Extras = uplink.Extras.Carry(families).Texts()
	p.FileMentions = findMentions(n.Files, families)
	text, err := doc.Encode()
	if err != nil {
		return err
	}
	p.NMState = string(text)
	if p.NodeIPHint, err = forecastHint(n.Files, r); err != nil {
		return err
	}
	p.addForecast(ctx, n, r)
	return nil
}

// LastOutage is how long the cluster was down in the latest change on record that went through: the best estimate for
// the next one. 0 where there is none.
func LastOutage(files host.Files) time.Duration {
	return operation.Span(files, ipconfig.StepQuiesce, ipconfig.StepWaitAPI)
}

// gatherFacts are gathered from cluster and node. A cluster that does not answer leaves its checks unknown.
func (n Ports) gatherFacts(ctx context.Context, stateroot string, now netstate.Document) preflight.Facts {
	f, err := n.Cluster.Facts(ctx)
	if err != nil {
		f = preflight.Facts{ControlPlaneNodes: 1, DnsmasqMachineConfig: true}
		for _, a := range presentAddresses(n.Files) {
			if a.Is4() {
				f.Current.IPv4 = &lcav1.IPStatus{Address: a.String()}
			} else {
				f.Current.IPv6 = &lcav1.IPStatus{Address: a.String()}
			}
		}
	}
	f.Current.Describe(now)
	if filter, err := n.Resolver.Filter(); err == nil {
		f.Current.FilterFamily = lcav1.DNSFilterFamily(filter)
	}
	n.newSurveyor().Look(ctx, stateroot, &f)
	if roots, err := n.Deployments.Stateroots(ctx); err == nil {
		f.LeftoverStateroots = slices.DeleteFunc(roots, func(root string) bool {
			return root == stateroot || !strings.HasPrefix(root, ipconfig.StaterootPrefix)
		})
	}
	if err != nil {
		for _, check := range []string{preflight.CheckSingleNode, preflight.CheckDnsmasq, preflight.CheckOverlap, preflight.CheckProxy} {
			f.Unknown[check] = "the cluster does not answer: " + err.Error()
		}
	}
	return f
}

func (n Ports) newSurveyor() preflight.Surveyor {
	return preflight.Surveyor{
		Files: n.Files, Disk: n.Trees, Deployments: n.Deployments, OneTimeBoot: n.OneTimeBoot, Prober: n.Prober, Kernel: n.Planner,
		Units: n.Units, Now: n.Clock.Now,
	}
}

func allSteps() (out []PreviewStep) {
	for _, plan := range []flow.Plan{(&PrePivot{}).Plan(), (&PostPivot{}).Plan()} {
		for _, s := range plan.Steps {
			out = append(out, PreviewStep{Flow: plan.Name, Name: s.Name, Title: s.Title})
		}
	}
	return out
}

// presentAddresses is what nodeip-configuration chose at boot.
func presentAddresses(files host.Files) (out []netip.Addr) {
	dir := path.Dir(host.PrimaryIP)
	for _, name := range []string{"primary-ip", "ipv4", "ipv6"} {
		data, err := files.Read(path.Join(dir, name))
		if err != nil {
			continue
		}
		if a, err := netip.ParseAddr(trimText(data)); err == nil {
			out = append(out, a)
		}
	}
	return out
}

func addressChanges(r ipconfig.Request, now []netip.Addr) (out []string) {
	families, err := r.Families()
	if err != nil {
		return nil
	}
	for _, f := range families {
		old, ok := sameFamily(now, f.Address)
		switch {
		case !ok:
			out = append(out, "? -> "+f.Address.String())
		case old != f.Address:
			out = append(out, old.String()+" -> "+f.Address.String())
		}
	}
	return out
}
