package netpolicy

import (
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
)

// Resolved is a policy's document for one node.
type Resolved struct {
	Document netstate.Document
	// Captured are the states that the captures selected, by name, as nmstate documents.
	Captured map[string]string
	// Before are the document's interfaces as they are without the policy, an nmstate document; empty for a policy without captures.
	Before string
	// Dropped restores what the document in force had and this one has not, an nmstate document; empty for nothing.
	Dropped string
}

// Resolve evaluates the captures over the network of now and fills the templates in. It changes nothing. An error says in
// which phase it arose: a capture that finds nothing may find something later, a document that is wrong stays wrong.
func Resolve(r Request, now netstate.Document) (Resolved, error) {
	p := policy.Policy{Captures: r.Captures, Desired: []byte(r.Document)}
	if err := policy.Check(p); err != nil {
		return Resolved{}, inPhase(PhaseValidate, fmt.Errorf("read policy %s: %w", r.Policy, err))
	}
	before, err := beforePolicy(r, now)
	if err != nil {
		return Resolved{}, inPhase(PhaseResolve, err)
	}
	resolved, err := policy.Resolve(p, before, r.Captured)
	if err != nil && len(r.Captures) > 0 {
		return Resolved{}, inPhase(PhaseResolve, err)
	}
	if err == nil {
		err = netstate.Validate(resolved.Desired)
	}
	if err != nil {
		return Resolved{}, inPhase(PhaseValidate, fmt.Errorf("validate the document of policy %s: %w", r.Policy, err))
	}
	kept, err := recordBefore(r, resolved.Desired, before)
	if err != nil {
		return Resolved{}, inPhase(PhaseResolve, err)
	}
	out := Resolved{Document: resolved.Desired, Captured: resolved.Captured, Before: kept}
	if out.Dropped, err = droppedPart(r, resolved.Desired); err != nil {
		return Resolved{}, inPhase(PhaseResolve, err)
	}
	return out, nil
}

func decodeDocument(text string) (netstate.Document, error) { return netstate.Decode([]byte(text)) }

// ShownDocument is the document without its secrets, as a status has it; empty for one that cannot be read.
func (o *Outcome) ShownDocument() string {
	document, err := decodeDocument(o.Document)
	if err != nil || o.Document == "" {
		return ""
	}
	text, err := document.Redacted().Encode()
	if err != nil {
		return ""
	}
	return string(text)
}

// Change is one key that an enactment changes, as a status shows it.
type Change struct {
	Key  string `json:"key"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Delta is what applying a document would change now.
type Delta struct {
	Changes []Change
	// Revert is the document that undoes it.
	Revert string
}

// Difference compares a document with the network of now.
func Difference(text string, now netstate.Document) (Delta, error) {
	document, err := decodeDocument(text)
	if err != nil {
		return Delta{}, err
	}
	var d Delta
	for _, m := range netstate.Compare(document, now) {
		d.Changes = append(d.Changes, Change{Key: m.Path, From: m.Got, To: m.Want})
	}
	back, err := netstate.Revert(document, now).Encode()
	if err != nil {
		return Delta{}, fmt.Errorf("encode the way back: %w", err)
	}
	d.Revert = string(back)
	return d, nil
}

// Mismatches lists the keys in which the network of now differs from a document that is in force.
func Mismatches(text string, now netstate.Document) ([]Mismatch, error) {
	document, err := decodeDocument(text)
	if err != nil {
		return nil, err
	}
	return asMismatches(netstate.Compare(document, now)), nil
}

// Unanswered says in sentences which interfaces of a document still wait for the answer of their network.
func Unanswered(text string, now netstate.Document) ([]string, error) {
	document, err := decodeDocument(text)
	if err != nil {
		return nil, err
	}
	return netstate.Unanswered(document, now), nil
}

func asMismatches(differ []netstate.Mismatch) (all []Mismatch) {
	for _, m := range differ {
		all = append(all, Mismatch{Key: m.Path, Want: m.Want, Got: m.Got})
	}
	return all
}

// combineDocuments joins the way back of an earlier enactment with that of a later one, key by key.
func combineDocuments(earlier, later string) (string, error) {
	first, err := decodeDocument(earlier)
	if err != nil {
		return "", fmt.Errorf("read the recorded way back: %w", err)
	}
	second, err := decodeDocument(later)
	if err != nil {
		return "", fmt.Errorf("read the new way back: %w", err)
	}
	out, err := netstate.Combine(first, second).Encode()
	if err != nil {
		return "", fmt.Errorf("encode the combined document: %w", err)
	}
	return strings.TrimSpace(string(out)) + "\n", nil
}

// Assessment is what an enactment would do.
type Assessment struct {
	Delta
	// TouchesUplink: an interface or a route changes that carries the node's default route.
	TouchesUplink bool
}

// Assess resolves the request and compares it with the network of now. It changes nothing.
func Assess(r Request, now netstate.Document) (Assessment, error) {
	resolved, err := Resolve(r, now)
	if err != nil {
		return Assessment{}, err
	}
	text, err := resolved.Document.Encode()
	if err != nil {
		return Assessment{}, fmt.Errorf("encode the document: %w", err)
	}
	whole, err := withDropped(string(text), resolved.Dropped)
	if err != nil {
		return Assessment{}, err
	}
	document, err := decodeDocument(whole)
	if err != nil {
		return Assessment{}, err
	}
	d, err := Difference(whole, now)
	if err != nil {
		return Assessment{}, err
	}
	touches := len(d.Changes) > 0 && touchesUplink(document, now)
	return Assessment{Delta: d, TouchesUplink: touches}, nil
}
