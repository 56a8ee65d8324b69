package netpolicy

import (
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// A policy for machine config pools owns what it configures, as a MachineConfig owns its files: what an edit drops is restored, key by
// key, to what it was before the policy. Three documents decide: the one in force, its way back, and the new one.

// droppedPart is the document that restores it; empty for nothing.
func droppedPart(r Request, next netstate.Document) (string, error) {
	if r.Last == "" || r.Revert == "" {
		return "", nil
	}
	last, err := decodeDocument(r.Last)
	if err != nil {
		return "", fmt.Errorf("read the document in force: %w", err)
	}
	back, err := decodeDocument(r.Revert)
	if err != nil {
		return "", fmt.Errorf("read the recorded way back: %w", err)
	}
	d := netstate.Dropped(back, last, next)
	text, err := d.Encode()
	if err != nil {
		return "", fmt.Errorf("encode what the policy dropped: %w", err)
	}
	if empty, err := (netstate.Document{}).Encode(); err != nil || string(text) == string(empty) {
		return "", err
	}
	if err := netstate.Validate(netstate.With(next, d)); err != nil {
		return "", fmt.Errorf("restore what policy %s dropped: %w; mention those keys with the values that they are to have", r.Policy, err)
	}
	return string(text), nil
}

// withDropped joins a document with what it dropped.
func withDropped(text, dropped string) (string, error) {
	if dropped == "" {
		return text, nil
	}
	return editDocument(text, dropped, netstate.With)
}

// withoutDropped returns the revert document minus the keys that a dropped part already restored.
func withoutDropped(back, dropped string) (string, error) {
	if dropped == "" {
		return back, nil
	}
	return editDocument(back, dropped, netstate.Without)
}

func editDocument(text, dropped string, how func(d, dropped netstate.Document) netstate.Document) (string, error) {
	d, err := decodeDocument(text)
	if err != nil {
		return "", err
	}
	restored, err := decodeDocument(dropped)
	if err != nil {
		return "", fmt.Errorf("read what the policy dropped: %w", err)
	}
	out, err := how(d, restored).Encode()
	if err != nil {
		return "", fmt.Errorf("encode the document: %w", err)
	}
	return string(out), nil
}
