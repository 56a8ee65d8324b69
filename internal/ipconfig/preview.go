package ipconfig

import (
	"context"
	"fmt"
	"net/netip"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Preview is what a change would do, found out without touching anything.
type Preview struct {
	OldStateroot string `json:"oldStateroot"`
	NewStateroot string `json:"newStateroot"`
	// AddressChanges reads "old -> new", one for each family that changes.
	AddressChanges []string `json:"addressChanges"`
	NMState        string   `json:"nmstate"`
	DiskNeedBytes  int64    `json:"diskNeedBytes"`
	DiskFreeBytes  int64    `json:"diskFreeBytes"`
	// The cluster is down between these two steps.
	OutageFrom string        `json:"outageFrom"`
	OutageTo   string        `json:"outageTo"`
	Steps      []PreviewStep `json:"steps"`
	// Recert is what would be rewritten; nil where RecertUnknown says why that is not known.
	Recert        *Forecast `json:"recert,omitempty"`
	RecertUnknown string    `json:"recertUnknown,omitempty"`
}

// PreviewStep is one step as it would run.
type PreviewStep struct {
	Flow  string `json:"flow"`
	Name  string `json:"name"`
	Title string `json:"title"`
}

// MakePreview works a request through without carrying it out.
func MakePreview(ctx context.Context, n Node, r Request) (Preview, error) {
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
	uplink, err := FindUplink(ctx, n.Switch, now)
	if err != nil {
		return Preview{}, err
	}
	doc, err := RenderNetwork(r, uplink)
	if err != nil {
		return Preview{}, err
	}
	text, err := doc.Encode()
	if err != nil {
		return Preview{}, err
	}
	p := Preview{
		OldStateroot: booted.Stateroot, NewStateroot: StaterootName(r.OperationID), NMState: string(text),
		OutageFrom: StepQuiesce, OutageTo: StepWaitAPI,
	}
	if r.NewStateroot != "" {
		p.NewStateroot = r.NewStateroot
	}
	need, free, err := SpaceFor(ctx, n.Trees, booted.Stateroot)
	if err != nil {
		return Preview{}, err
	}
	p.DiskNeedBytes, p.DiskFreeBytes = need.Bytes, free.Bytes
	p.forecast(ctx, n, r)
	p.AddressChanges = addressChanges(r, presentAddresses(n.Files))
	for _, plan := range []flow.Plan{(&PrePivot{}).Plan(), (&PostPivot{}).Plan()} {
		for _, s := range plan.Steps {
			p.Steps = append(p.Steps, PreviewStep{Flow: plan.Name, Name: s.Name, Title: s.Title})
		}
	}
	return p, nil
}

// presentAddresses is what nodeip-configuration chose at boot.
func presentAddresses(files host.Files) (out []netip.Addr) {
	dir := path.Dir(host.PrimaryIP)
	for _, name := range []string{"primary-ip", "ipv4", "ipv6"} {
		data, err := files.Read(path.Join(dir, name))
		if err != nil {
			continue
		}
		if a, err := netip.ParseAddr(trim(data)); err == nil {
			out = append(out, a)
		}
	}
	return out
}

func addressChanges(r Request, now []netip.Addr) (out []string) {
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
