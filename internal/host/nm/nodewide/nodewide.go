// Package nodewide changes what belongs to the node as a whole and what no profile of NetworkManager holds: the node's
// names, and its own row in the Open vSwitch database. NetworkManager's checkpoints know nothing of it, so the journal of
// package nm carries both the change and its way back.
//
// Packages nm and nm/plan use it; it imports netstate only.
package nodewide

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Names are the node's names; package hostname implements it.
type Names interface {
	// Hostname returns the name that the kernel has, Stored the one of the next boot; false where none is stored.
	Hostname(ctx context.Context) (string, error)
	Stored(ctx context.Context) (string, bool, error)
	// SetRunning gives the kernel the name; SetStored stores it for the next boots, and removes it where it is empty.
	SetRunning(ctx context.Context, name string) error
	SetStored(ctx context.Context, name string) error
}

// Database is the node's Open vSwitch database; package ovs implements it.
type Database interface {
	// Settings returns the node's own row; nil on a node without Open vSwitch.
	Settings(ctx context.Context) (*netstate.OVSDB, *netstate.OVN, error)
	// Configure merges the keys and mappings into the row, in one transaction.
	Configure(ctx context.Context, columns *netstate.OVSDB, ovn *netstate.OVN) error
}

// Change is what a document changes, and how it was before: the same keys, those that were not there ordered away.
type Change struct {
	New netstate.Document `json:"new"`
	Old netstate.Document `json:"old"`
}

// Plan computes the change; nil where everything is in place.
func Plan(want, now netstate.Document, ephemeral bool) (*Change, error) {
	doc, was := want.NodeWide(), now.NodeWide()
	c := &Change{New: netstate.Diff(was, doc)}
	if reflect.DeepEqual(c.New, netstate.Document{}) {
		return nil, nil
	}
	if paths := c.New.Lasting(); ephemeral && len(paths) > 0 {
		return nil, fmt.Errorf("%s: %s", paths[0], netstate.NotEphemeral)
	}
	c.Old = netstate.Revert(doc, was)
	return c, nil
}

// Keys are the paths of the keys that change.
func (c *Change) Keys() []string {
	var out []string
	if h := c.New.Hostname; h != nil && h.Running != nil {
		out = append(out, "hostname.running")
	}
	if h := c.New.Hostname; h != nil && h.Config != nil {
		out = append(out, "hostname.config")
	}
	if o := c.New.OVSDB; o != nil {
		for _, k := range slices.Sorted(maps.Keys(o.ExternalIDs)) {
			out = append(out, "ovs-db.external_ids."+k)
		}
		for _, k := range slices.Sorted(maps.Keys(o.OtherConfig)) {
			out = append(out, "ovs-db.other_config."+k)
		}
	}
	if c.New.OVN != nil {
		for _, b := range c.New.OVN.BridgeMappings {
			out = append(out, "ovn.bridge-mappings["+b.Localnet+"]")
		}
	}
	return out
}

// Encode writes the change as a document.
func (c *Change) Encode() (string, error) {
	if c == nil {
		return "", nil
	}
	text, err := c.New.Encode()
	return string(text), err
}

// Ports are the ways to the node; either may be missing.
type Ports struct {
	Names    Names
	Database Database
}

// Able refuses a change that the ports cannot make, with the key's path.
func (p Ports) Able(c *Change) error {
	switch {
	case c == nil:
	case c.New.Hostname != nil && p.Names == nil:
		return errors.New("hostname: this program does not change the names of the node")
	case c.New.OVSDB != nil && p.Database == nil:
		return errors.New("ovs-db: this program does not change the Open vSwitch database")
	case c.New.OVN != nil && p.Database == nil:
		return errors.New("ovn.bridge-mappings: this program does not change the Open vSwitch database")
	}
	return nil
}

// Settings are the node's own row of the Open vSwitch database; nil where there is none.
func (p Ports) Settings(ctx context.Context) (*netstate.OVSDB, *netstate.OVN, error) {
	if p.Database == nil {
		return nil, nil, nil
	}
	return p.Database.Settings(ctx)
}

// Observe reads the names; what cannot be read is left out.
func Observe(ctx context.Context, names Names) *netstate.Hostname {
	out := &netstate.Hostname{}
	if name, err := names.Hostname(ctx); err == nil {
		out.Running = &name
	}
	if name, some, err := names.Stored(ctx); err == nil && some {
		out.Config = &name
	}
	return out
}

// Start puts the document in force, all but the stored name: that is for the commit.
func (p Ports) Start(ctx context.Context, d netstate.Document) error {
	if d.OVSDB != nil || d.OVN != nil {
		if err := p.Database.Configure(ctx, d.OVSDB, d.OVN); err != nil {
			return fmt.Errorf("configure Open vSwitch: %w", err)
		}
	}
	return p.startName(ctx, d.Hostname)
}

// startName gives the kernel the running name, or the stored one where that is given alone.
func (p Ports) startName(ctx context.Context, h *netstate.Hostname) error {
	if h == nil {
		return nil
	}
	for _, name := range []*string{h.Running, h.Config} {
		if name != nil && *name != "" {
			return p.Names.SetRunning(ctx, *name)
		}
	}
	return nil
}

// Store stores the name for the next boots. That changes the running name, too, so it is set again.
func (p Ports) Store(ctx context.Context, d netstate.Document) error {
	if d.Hostname == nil || d.Hostname.Config == nil {
		return nil
	}
	if err := p.Names.SetStored(ctx, *d.Hostname.Config); err != nil {
		return fmt.Errorf("store the host name: %w", err)
	}
	return p.startName(ctx, d.Hostname)
}

// Restore puts all of the document in force. It may be repeated.
func (p Ports) Restore(ctx context.Context, d netstate.Document) error {
	if err := p.Able(&Change{New: d}); err != nil {
		return err
	}
	if err := p.Store(ctx, d); err != nil {
		return err
	}
	return p.Start(ctx, d)
}

// Unstored is a document without the name that the commit is to store.
func Unstored(d netstate.Document) netstate.Document {
	if d.Hostname != nil {
		d.Hostname = &netstate.Hostname{Running: d.Hostname.Running}
	}
	return d
}
