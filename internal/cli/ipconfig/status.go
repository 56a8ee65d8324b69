package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Status is the answer of "ip-config status".
type Status struct {
	verb.Status
	Request *Target `json:"request,omitempty"`
	Cause   string  `json:"rollbackCause,omitempty"`
	Recert  string  `json:"recert,omitempty"`
}

// Target is the network that the operation changes to.
type Target struct {
	Addresses []string `json:"addresses"`
	DNS       []string `json:"dnsServers,omitempty"`
	VLAN      int      `json:"vlanID,omitempty"`
	Old       string   `json:"oldStateroot"`
	New       string   `json:"newStateroot"`
}

func newStatusCommand(w Wiring) *cobra.Command {
	return w.StatusCommand("Show the IP change of this node, from its journal", w.Source)
}

// Source observes the IP change of this node.
func (w Wiring) Source(ctx context.Context) (verb.Source, error) {
	node, _, err := w.Node(ctx, false)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (verb.Report, error) { return describeChange(ctx, w, node) }, nil
}

func describeChange(ctx context.Context, w Wiring, node change.Ports) (*Status, error) {
	core, all, err := w.Observe(ctx, verb.Node{Files: node.Files, Deployments: node.Deployments})
	if err != nil {
		return nil, err
	}
	s := &Status{Status: core}
	r, damage, err := ipconfig.FindRequest(node.Files, all)
	if errors.Is(err, ipconfig.ErrNoRequest) {
		return s, nil
	}
	if err != nil { // an administrator looks for help here: show what is known
		s.Where, s.Failure = "the prepared operation cannot be read; 'lca-cli ip-config cleanup' removes it", err.Error()
		return s, nil //nolint:nilerr // it is part of the answer
	}
	p, err := ipconfig.ReadProgress(node.Files, r.OperationID)
	if err != nil {
		return nil, err
	}
	s.Fill(node.Files, p.Progress)
	var watched ipconfig.Watched
	if operation.ReadJSON(node.Files, ipconfig.WatchedFile, &watched) == nil {
		s.Deadline = &watched.Until
	}
	boot, err := node.Power.BootID(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the boot id: %w", err)
	}
	s.addChange(r, p, boot)
	if why := change.UnprovedReturn(node.Files, r, p, boot); why != "" && s.Booted == r.OldStateroot {
		s.Cause = why
	}
	s.describeOutcome()
	s.addHealth(node.Files, r.OperationID)
	if damage != nil {
		s.Failure = damage.Error()
	}
	return s, nil
}

// addChange adds what only an IP change has.
func (s *Status) addChange(r ipconfig.Request, p ipconfig.Progress, boot string) {
	s.Where, s.Cause, s.Recert = describeProgress(p, s.Booted == r.NewStateroot), p.Cause, p.Recert
	if due := p.PrePivot.Committed && p.PrePivot.Boot == boot && (s.Default == r.NewStateroot || p.Once); due && !hasEnded(p) {
		s.Where = describeReboot(p.PrePivot, r.NewStateroot)
	}
	s.Request = &Target{DNS: r.DNSServers, VLAN: r.VLANID, Old: r.OldStateroot, New: r.NewStateroot}
	for _, a := range []string{r.IPv4Address, r.IPv6Address} {
		if a != "" {
			s.Request.Addresses = append(s.Request.Addresses, a)
		}
	}
	s.Target = []verb.Fact{
		{Label: "Addresses", Text: strings.Join(s.Request.Addresses, ", ")}, {Label: "DNS servers", Text: strings.Join(r.DNSServers, ", ")},
	}
}

func (s *Status) describeOutcome() {
	s.Outcome = []verb.Fact{{Label: "Rollback", Text: s.Cause}, {Label: "Certificates", Text: s.Recert}}
}

// addHealth says what a proved change waits for. A watchdog that was disarmed has no deadline.
func (s *Status) addHealth(files host.Files, id string) {
	h, found, err := ipconfig.ReadHealth(files, id)
	if err != nil || !found {
		return
	}
	if auto, err := ipconfig.ReadAutoRollback(files); err == nil && !auto.HealthEnabled() {
		s.Deadline = nil
	}
	if !h.Healthy {
		s.Outcome = append(s.Outcome, verb.Fact{Label: "Awaiting", Text: h.Missing})
	}
}

// hasEnded: a rollback or a cleanup came after the change.
func hasEnded(p ipconfig.Progress) bool { return p.Rollback.Begun || p.Cleanup.Begun }

// describeReboot is for the boot in which the default was flipped.
func describeReboot(f flow.FlowProgress, next string) string {
	if f.Failure != "" {
		return "stateroot " + next + " boots next; reboot the node to continue"
	}
	return "the node reboots into stateroot " + next + " now"
}

func describeProgress(p ipconfig.Progress, pivoted bool) string {
	switch {
	case p.Cleanup.Begun:
		return "cleaning up"
	case p.Rollback.Begun && pivoted:
		return "rolling back"
	case p.Rollback.Begun:
		return "rolled back"
	case pivoted && p.PostPivot.Finished:
		return "changed; waiting for Idle (keep) or Rollback"
	case pivoted:
		return "finishing in the new stateroot"
	case p.PrePivot.Committed:
		return "the old stateroot was booted without a rollback"
	case p.PrePivot.RolledBack:
		return "failed and rolled back; the old system runs"
	case p.PrePivot.Begun:
		return "preparing in the old stateroot"
	}
	return "accepted"
}
