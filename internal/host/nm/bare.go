package nm

import (
	"fmt"
	"net"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// bareLink is a virtual link without a profile that the document makes absent. It is taken down with the other changes and deleted once
// they are committed: until then the way back is to set it up again, with what was on it.
type bareLink struct {
	Name  string `json:"name"`
	Index int    `json:"index"`
	Up    bool   `json:"up,omitempty"` // before the change
}

// recordBareLinks notes the links without a profile that go, and what was on them.
func (t *transaction) recordBareLinks(k *kernel.State, all kernel.Messages) {
	for _, name := range t.bare {
		was, _ := t.now.Find(name, "")
		index := k.IndexOf(name)
		card, err := net.InterfaceByIndex(index)
		t.record.Links = append(t.record.Links, bareLink{Name: name, Index: index, Up: err == nil && card.Flags&net.FlagUp != 0})
		if was.State != netstate.StateDown {
			t.record.ForeignBefore = append(t.record.ForeignBefore, kernel.ForeignOn(k, all, name, nil))
		}
	}
}

// takeBareLinksDown does so with the links of the record, before anything else is changed: what goes away frees addresses and ports.
func (t *transaction) takeBareLinksDown() error {
	for _, l := range t.record.Links {
		t.log.Info("changing the network", "interface", l.Name, "absent", true)
		if err := kernel.SetLinkUp(l.Index, false); err != nil {
			return fmt.Errorf("take %s down: %w", l.Name, err)
		}
	}
	return nil
}

// raiseBareLinks sets the links of a change that is undone up again. Those of another boot ended with it.
func (r *record) raiseBareLinks() error {
	if r.earlier || r.Phase == phaseCommitted {
		return nil
	}
	for _, l := range r.Links {
		if !l.Up {
			continue
		}
		if err := kernel.SetLinkUp(l.Index, true); err != nil {
			return fmt.Errorf("set %s up again: %w", l.Name, err)
		}
	}
	return nil
}

// deleteBareLinks deletes the links of a committed change.
func (r *record) deleteBareLinks() error {
	if r.earlier {
		return nil
	}
	for _, l := range r.Links {
		if err := kernel.DeleteLink(l.Index); err != nil {
			return fmt.Errorf("delete link %s: %w", l.Name, err)
		}
	}
	return nil
}

func (r *record) isBareLink(iface string) bool {
	return slices.ContainsFunc(r.Links, func(l bareLink) bool { return l.Name == iface })
}
