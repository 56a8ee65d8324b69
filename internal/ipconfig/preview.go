package ipconfig

import (
	"context"
	"fmt"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Preview is what a change would do, found out without touching anything.
type Preview struct {
	OldStateroot string `json:"oldStateroot"`
	NewStateroot string `json:"newStateroot"`
	// AddressChanges reads "old -> new", one for each family that changes.
	AddressChanges []string `json:"addressChanges"`
	NMState        string   `json:"nmstate"`
	// NodeIPHint is what becomes of KUBELET_NODEIP_HINT; empty where the node has none.
	NodeIPHint     string `json:"nodeIPHint,omitempty"`
	DiskNeedBytes  int64  `json:"diskNeedBytes"`
	DiskFreeBytes  int64  `json:"diskFreeBytes"`
	DiskNeedInodes int64  `json:"diskNeedInodes"`
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
}

// PreviewStep is one step as it would run.
type PreviewStep struct {
	Flow  string `json:"flow"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Wish is a change that somebody thinks of.
type Wish struct {
	Spec lcav1.IPConfigSpec
	// Prepared is the request where the change was handed to the node already; nil where it was not.
	Prepared *Request
}

// MakePreview works a wish through without carrying it out. What can not be known is said in its place; a wish that
// the checks refuse is shown as far as it goes.
func MakePreview(ctx context.Context, n Node, wish Wish) (Preview, error) {
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return Preview{}, fmt.Errorf("list deployments: %w", err)
	}
	booted, err := host.Booted(all)
	if err != nil {
		return Preview{}, err
	}
	now, err := n.Network.Observe(ctx)
	if err != nil {
		return Preview{}, fmt.Errorf("observe the node's network: %w", err)
	}
	f := n.facts(ctx, booted.Stateroot, now)
	r := BuildRequest("preview", booted.Stateroot, wish.Spec, f.Current)
	if wish.Prepared != nil {
		r = *wish.Prepared
	}
	if err := n.surveyor().Measure(ctx, wish.Spec, booted.Stateroot, r.NewStateroot, &f); err != nil {
		return Preview{}, err
	}
	p := Preview{
		OldStateroot: booted.Stateroot, NewStateroot: r.NewStateroot,
		DiskNeedBytes: f.Need.Bytes, DiskFreeBytes: f.Free.Bytes, DiskNeedInodes: f.Need.Inodes,
		OutageFrom: StepQuiesce, OutageTo: StepWaitAPI, OutageSeconds: int64(LastOutage(n.Files).Seconds()),
		AddressChanges: addressChanges(r, presentAddresses(n.Files)), Steps: allSteps(), Checks: Validate(wish.Spec, f),
	}
	for _, probe := range r.Probes {
		p.Probes = append(p.Probes, fmt.Sprintf("%s: %s %s within %s", probe.Name, probe.Type, probe.Target, probe.timeout()))
	}
	if refusal := Refusal(p.Checks); refusal != nil {
		p.Refusal = refusal.Error()
	}
	err = p.render(ctx, n, r, now)
	if err != nil && p.Refusal == "" {
		return Preview{}, err
	}
	return p, nil
}

// render adds what would be written.
func (p *Preview) render(ctx context.Context, n Node, r Request, now netstate.Document) error {
	p.RecertUnknown = "the request is not one that could be carried out"
	uplink, err := FindUplink(ctx, n.Switch, now)
	if err != nil {
		return err
	}
	doc, err := RenderNetwork(r, uplink)
	if err != nil {
		return err
	}
	text, err := doc.Encode()
	if err != nil {
		return err
	}
	p.NMState, p.RecertUnknown = string(text), ""
	if p.NodeIPHint, err = foretellHint(n.Files, r); err != nil {
		return err
	}
	p.forecast(ctx, n, r)
	return nil
}

// EvidenceOf lists where the records of an operation are on this node.
func EvidenceOf(files host.Files, operation string) (paths []string) {
	for _, p := range []string{JournalPath(operation), PivotedJournalPath(operation), EvidencePath(operation)} {
		if _, err := files.Stat(p); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// Narrate is one journal entry as a line for a person; empty for entries that say nothing new.
func Narrate(e flow.Entry) string {
	took := (time.Duration(e.TookMS) * time.Millisecond).Round(10 * time.Millisecond)
	switch e.Kind {
	case flow.KindIntent:
		return fmt.Sprintf("[%d/%d] %s ...", e.Index, e.Total, e.Title)
	case flow.KindDone:
		return fmt.Sprintf("[%d/%d] %s: done in %s", e.Index, e.Total, e.Title, took)
	case flow.KindSkipped:
		return fmt.Sprintf("[%d/%d] %s: already done", e.Index, e.Total, e.Title)
	case flow.KindFailed:
		return fmt.Sprintf("[%d/%d] %s: FAILED after %s: %s", e.Index, e.Total, e.Title, took, e.Error)
	case flow.KindUndone:
		return fmt.Sprintf("took back: %s (%s)", e.Title, took)
	case flow.KindUndoFailed:
		return fmt.Sprintf("could NOT take back: %s: %s", e.Title, e.Error)
	case flow.KindNote:
		return e.Message
	}
	return ""
}
