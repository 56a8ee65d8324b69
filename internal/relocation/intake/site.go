package intake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Site implements portal.Site.
type Site struct {
	node   host.Node
	files  host.Files
	record relocation.Record

	mu    sync.Mutex
	plan  string
	typed []byte
}

var _ portal.Site = (*Site)(nil)

// NewSite is the site of a node that was prepared.
func NewSite(n host.Node) (*Site, error) {
	record, err := relocation.ReadRecord(n.Files)
	return &Site{node: n, files: n.Files, record: record}, err
}

// Submit implements portal.Site.
func (s *Site) Submit(_ context.Context, c siteconfig.SiteConfig) (portal.Plan, []siteconfig.Problem, error) {
	if problems := onsite.Misfits(s.record, c); len(problems) > 0 {
		return portal.Plan{}, problems, nil
	}
	data, err := onsite.Text(c)
	if err != nil {
		return portal.Plan{}, nil, err
	}
	sum := sha256.Sum256(data)
	plan := describePlan(s.record, c)
	plan.ID = hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.typed = plan.ID, data
	return plan, nil, nil
}

// Start implements portal.Site.
func (s *Site) Start(ctx context.Context, plan string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if plan != s.plan || s.typed == nil {
		return errors.New("the plan is no longer the one that was shown: check it again")
	}
	r, under, _, err := onsite.FindRequest(ctx, s.node)
	if err != nil {
		return err
	}
	if under && !s.isRepeating(r) || s.isTypedPending() {
		return portal.ErrUnderWay
	}
	if err := s.files.Write(relocation.TypedFile, s.typed, 0o600); err != nil {
		return fmt.Errorf("hand the configuration to the node: %w", err)
	}
	return nil
}

// waiting: what came by the page has not been taken yet.
func (s *Site) isTypedPending() bool {
	_, err := s.files.Stat(relocation.TypedFile)
	return err == nil
}

// repeats: the node tries a silent network again by itself. Another configuration may take its place.
func (s *Site) isRepeating(r relocation.Request) bool {
	if !r.Repeats {
		return false
	}
	entries, err := operation.ReadEntries(s.files, r.OperationID)
	return err == nil && !flow.Fold(r.OperationID, entries).Flow(relocation.FlowReconfigure).Committed
}

// Progress implements portal.Site.
func (s *Site) Progress(ctx context.Context) (portal.Progress, error) {
	r, under, _, err := onsite.FindRequest(ctx, s.node)
	switch {
	case err != nil:
		return portal.Progress{}, err
	case under && !s.isRepeating(r):
		return s.runningProgress(r)
	case s.isTypedPending():
		return portal.Progress{State: portal.Running, Title: "Reading the configuration"}, nil
	}
	if a, found, err := relocation.ReadArrival(s.files); err == nil && found {
		return portal.Progress{State: portal.Failed, Code: a.Code, Message: a.Message}, nil
	}
	last, err := relocation.ReadLast(s.files)
	switch {
	case err != nil:
		return portal.Progress{}, err
	case last.Outcome == "":
		return portal.Progress{State: portal.Waiting}, nil
	case last.Outcome == relocation.OutcomeHome:
		return s.atHome()
	}
	return portal.Progress{State: portal.Failed, Code: last.Code(), Message: last.Cause,
		Returned: last.Outcome == relocation.OutcomeReturned}, nil
}

func (s *Site) runningProgress(r relocation.Request) (portal.Progress, error) {
	entries, err := operation.ReadEntries(s.files, r.OperationID)
	if err != nil {
		return portal.Progress{}, err
	}
	now := portal.Progress{State: portal.Running, Title: "Beginning", Started: r.Accepted}
	if f, running := flow.Fold(r.OperationID, entries).Current(); running {
		now.Step, now.Steps, now.Title = f.Index, f.Total, f.Title
	}
	return now, nil
}

func (s *Site) atHome() (portal.Progress, error) {
	now := portal.Progress{State: portal.Succeeded, Committed: true}
	var r onsite.Report
	// The change is committed whatever can be read of it: the page may close.
	if err := operation.ReadJSON(s.files, relocation.ReportFile, &r); err != nil {
		now.Facts = []portal.Fact{{Name: "Needs attention", Value: "The report of the site cannot be read: " + err.Error()}}
		return now, nil //nolint:nilerr // it is a fact of the result
	}
	now.Facts = []portal.Fact{
		{Name: "Console", Value: "https://console-openshift-console.apps." + r.Domain},
		{Name: "API", Value: "https://api." + r.Domain + ":6443"}, {Name: "Node", Value: r.Hostname},
		{Name: "Addresses", Value: strings.Join(r.Addresses, ", ")},
	}
	for _, a := range r.Attention {
		now.Facts = append(now.Facts, portal.Fact{Name: "Needs attention", Value: a})
	}
	return now, nil
}

// Handover implements portal.Site.
func (s *Site) Handover(ctx context.Context) (portal.Handover, error) {
	if now, err := s.Progress(ctx); err != nil {
		return portal.Handover{}, err
	} else if now.State != portal.Succeeded {
		return portal.Handover{}, portal.ErrNotReady
	}
	h, err := onsite.TakeHandover(s.files)
	if errors.Is(err, operation.ErrRefused) {
		return portal.Handover{}, portal.ErrHandedOver
	}
	if err != nil {
		return portal.Handover{}, err
	}
	data, err := yaml.Marshal(h) // the file hands the password over
	if err != nil {
		return portal.Handover{}, fmt.Errorf("encode the hand-over file: %w", err)
	}
	return portal.Handover{Name: cmp.Or(h.Site, "site") + "-handover.yaml", Data: data}, nil
}
