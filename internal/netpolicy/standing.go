package netpolicy

import (
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Standing is what became of a committed document since another boot or stateroot.
type Standing string

// The standings.
const (
	// StandingInForce: the record is of this boot and stateroot, or the network has the document.
	StandingInForce Standing = "InForce"
	// StandingLost: this boot, or this stateroot, runs without it.
	StandingLost Standing = "Lost"
	// StandingSuperseded: an operation on the whole node has configured this stateroot otherwise since.
	StandingSuperseded Standing = "Superseded"
)

// SystemNow is the system that a record is compared with.
type SystemNow struct {
	Boot, Stateroot string
	// Network observes it.
	Network func() (netstate.Document, error)
}

// Stands compares a record with the system that runs now. The mismatches are the keys that differ: of the policy's document, or, if it
// is superseded, of the document that the stateroot was configured with, as the policy would make it.
func Stands(files host.Files, c record.Committed, s SystemNow) (Standing, []Mismatch, error) {
	foreign := c.Stateroot != "" && s.Stateroot != "" && c.Stateroot != s.Stateroot
	if !foreign && c.Boot == s.Boot {
		return StandingInForce, nil, nil
	}
	now, err := s.Network()
	if err != nil {
		return "", nil, fmt.Errorf("observe the network: %w", err)
	}
	document, err := decodeDocument(c.Document)
	if err != nil {
		return "", nil, fmt.Errorf("read the record of policy %s: %w", c.Policy, err)
	}
	differ := asMismatches(netstate.Compare(document, now))
	if foreign && len(differ) > 0 {
		if lost, err := findOverwritten(files, document, now); err != nil || len(lost) > 0 {
			return StandingSuperseded, lost, err
		}
	}
	if c.Ephemeral && c.Boot != s.Boot || len(differ) > 0 {
		return StandingLost, differ, nil
	}
	return StandingInForce, nil, nil
}

// findOverwritten lists the keys of the stateroot's own configuration that are in place, and would not be with the document.
func findOverwritten(files host.Files, document, now netstate.Document) ([]Mismatch, error) {
	own, found, err := bringup.ReadConfigured(files)
	if err != nil {
		return nil, fmt.Errorf("read the network that this stateroot was configured with: %w", err)
	}
	if !found {
		return nil, nil
	}
	missing := map[string]bool{}
	for _, m := range netstate.Compare(own, now) {
		missing[m.Path] = true
	}
	var lost []netstate.Mismatch
	then := netstate.Merge(now, document)
	if document.DNS == nil {
		then.DNS = now.DNS
	} else if then.DNS != nil {
		then.DNS.Running = then.DNS.Config
	}
	for _, m := range netstate.Compare(own, then) {
		if !missing[m.Path] {
			lost = append(lost, m)
		}
	}
	return asMismatches(lost), nil
}
