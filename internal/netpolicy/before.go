package netpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// beforePolicy is the network without what the policy has in force. A document with captures is what differs from that: in
// a comparison with now, a policy that is in force would ask for nothing, and its drift would go unnoticed.
//
// The way back restores what had a value and removes what is new. A setting that had no value it leaves as the policy made it,
// so the policy's interfaces are taken from the record of what they were like.
func beforePolicy(r Request, now netstate.Document) (netstate.Document, error) {
	if r.Revert == "" || len(r.Captures) == 0 {
		return now, nil
	}
	back, err := decodeDocument(r.Revert)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("read the recorded way back: %w", err)
	}
	before := netstate.Merge(now, back)
	kept, err := decodeDocument(r.Before)
	if err != nil {
		return netstate.Document{}, fmt.Errorf("read the record of the interfaces before policy %s: %w", r.Policy, err)
	}
	before.Interfaces = slices.Clone(before.Interfaces)
	for _, i := range kept.Interfaces {
		n := slices.IndexFunc(before.Interfaces, func(o netstate.Interface) bool { return o.Name == i.Name && o.Type == i.Type })
		if n >= 0 {
			before.Interfaces[n] = i
		}
	}
	return before, nil
}

// recordBefore is what to keep of the network without the policy: the interfaces of its document, and those that earlier
// generations named, as they were.
func recordBefore(r Request, document, before netstate.Document) (string, error) {
	if len(r.Captures) == 0 {
		return "", nil
	}
	var kept netstate.Document
	for _, i := range before.Interfaces {
		if slices.ContainsFunc(document.Interfaces, func(w netstate.Interface) bool { return matchesInterface(w, i) }) {
			kept.Interfaces = append(kept.Interfaces, i)
		}
	}
	text, err := kept.Encode()
	if err != nil {
		return "", fmt.Errorf("encode the interfaces before policy %s: %w", r.Policy, err)
	}
	return combineDocuments(r.Before, string(text))
}

// matchesInterface says that a document's interface is this one, by its name or by its hardware address.
func matchesInterface(w, i netstate.Interface) bool {
	if w.Identifier == netstate.IdentifierMAC {
		return strings.EqualFold(w.MACAddress, i.MACAddress)
	}
	return w.Name == i.Name
}
