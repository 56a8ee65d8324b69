package nm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nodewide"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Phases of a transaction, as stored. The step from open to committed is the one
// commit point: before it recovery goes back, after it recovery goes forward.
const (
	phaseOpen      = "open"
	phaseCommitted = "committed"
)

// journalVersion changes when an older program could misread the record.
const journalVersion = 1

// record is the transaction on disk. Key files may hold secrets (802.1X), so it is
// private to root like they are.
type record struct {
	Version int       `json:"version"`
	Phase   string    `json:"phase"`
	Began   time.Time `json:"began"`
	// Boot is the boot in which it began. Ephemeral changes are never saved and end with it.
	Boot      string `json:"boot,omitempty"`
	Ephemeral bool   `json:"ephemeral,omitempty"`
	// Confirm is set while the change runs and waits for its confirmation.
	Confirm *host.PendingNetwork `json:"confirm,omitempty"`
	// Lease is the checkpoint NetworkManager holds for us.
	Lease lease `json:"lease"`
	// Profiles are those the transaction edits, makes or deletes.
	Profiles []touched `json:"profiles"`
	// Old are the key files of these profiles before, New after; by path, whole text.
	Old map[string]string `json:"old"`
	New map[string]string `json:"new,omitempty"`
	// GlobalOld and GlobalNew are the global DNS configuration, nil where it is not touched.
	GlobalOld *profile.GlobalDNS `json:"globalOld,omitempty"`
	GlobalNew *profile.GlobalDNS `json:"globalNew,omitempty"`
	// PrimaryOld and PrimaryNew are the primary ports of the bonds that are to lose theirs, by bond; "" is none.
	PrimaryOld map[string]string `json:"primaryOld,omitempty"`
	PrimaryNew map[string]string `json:"primaryNew,omitempty"`
	// Node is what no profile holds, nil where it is not touched.
	Node *nodewide.Change `json:"node,omitempty"`
	// Before is how the interfaces concerned were, to check that they are so again.
	Before netstate.Document `json:"before"`
	// After is how they are to be: what the document demands and what their profiles keep.
	After netstate.Document `json:"after"`
	// Links are those without a profile that go.
	Links []bareLink `json:"links,omitempty"`
	// NewBridges are the bridges of Open vSwitch that did not exist before.
	NewBridges []string `json:"newBridges,omitempty"`
	// Foreign is what other programs gave these interfaces, before and after.
	ForeignBefore []kernel.Foreign `json:"foreignBefore,omitempty"`
	ForeignAfter  []kernel.Foreign `json:"foreignAfter,omitempty"`

	// earlier: the record is of another boot than this one, which has no file of it in memory.
	earlier bool
}

// touched is one profile of the transaction.
type touched struct {
	UUID  string `json:"uuid"`
	Iface string `json:"interface"`
	// Layer tells a bridge or port of Open vSwitch from the interface of the same name.
	Layer  profile.Layer `json:"layer,omitempty"`
	Active bool          `json:"active,omitempty"` // was in force before
	Wanted bool          `json:"wanted,omitempty"` // is to be in force afterwards
	Save   bool          `json:"save,omitempty"`   // differs from the disk
	Delete bool          `json:"delete,omitempty"` // goes at commit
}

// lease identifies a checkpoint beyond doubt: paths are used again when
// NetworkManager restarts.
type lease struct {
	Path    dbus.ObjectPath `json:"path,omitempty"`
	Owner   string          `json:"owner,omitempty"`   // unique bus name of NetworkManager
	Created int64           `json:"created,omitempty"` // ms since boot, by NetworkManager's clock
}

func (n *Network) journalPath() string { return filepath.Join(n.o.StateDir, "transaction.json") }

// loadJournal reads the journal; nil where no transaction is open.
func (n *Network) loadJournal() (*record, error) {
	data, err := n.o.Files.Read(n.journalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the network journal: %w", err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read the network journal %s: %w", n.journalPath(), err)
	}
	if r.Version != journalVersion {
		return nil, fmt.Errorf("network journal %s has version %d, this program knows %d", n.journalPath(), r.Version, journalVersion)
	}
	return &r, nil
}

// storeJournal replaces the journal; it is on disk when store returns.
func (n *Network) storeJournal(r *record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the network journal: %w", err)
	}
	if err := n.o.Files.Write(n.journalPath(), data, 0o600); err != nil {
		return fmt.Errorf("write the network journal: %w", err)
	}
	return nil
}

func (n *Network) removeJournal() error {
	if err := n.o.Files.Remove(n.journalPath()); err != nil {
		return fmt.Errorf("remove the network journal: %w", err)
	}
	return nil
}

// survivingPart is what a record of an earlier boot still has a say in: profiles on the disk. Those in memory ended with their
// boot, and a program that had made them, such as OpenShift's configure-ovs, makes others under the same names. A record of
// this boot is returned as it is.
func (r *record) survivingPart(boot string, at folders) *record {
	if r.Boot == "" || boot == "" || r.Boot == boot {
		return r
	}
	gone := func(i string) bool { return r.inMemory(i, at) || r.isBareLink(i) }
	left := *r
	left.earlier = true
	left.Old, left.New = onDisk(r.Old, at), onDisk(r.New, at)
	left.Before, left.After = withoutInterfaces(r.Before, gone), withoutInterfaces(r.After, gone)
	foreign := func(f kernel.Foreign) bool { return gone(f.Iface) }
	left.ForeignBefore = slices.DeleteFunc(slices.Clone(r.ForeignBefore), foreign)
	left.ForeignAfter = slices.DeleteFunc(slices.Clone(r.ForeignAfter), foreign)
	left.PrimaryOld, left.PrimaryNew = maps.Clone(r.PrimaryOld), maps.Clone(r.PrimaryNew)
	maps.DeleteFunc(left.PrimaryOld, func(bond, _ string) bool { return gone(bond) })
	maps.DeleteFunc(left.PrimaryNew, func(bond, _ string) bool { return gone(bond) })
	left.Profiles = slices.Clone(r.Profiles)
	for i, p := range left.Profiles {
		if gone(p.Iface) {
			left.Profiles[i].Active, left.Profiles[i].Wanted = false, false
		}
	}
	return &left
}

// inMemory says that an interface had a profile that was not on the disk when the transaction began, or has none when it is
// committed.
func (r *record) inMemory(iface string, at folders) bool {
	files := r.Old
	if r.Phase == phaseCommitted {
		files = r.New
	}
	for _, p := range r.Profiles {
		if p.Iface != iface {
			continue
		}
		for path, text := range files {
			if at.isVolatile(path) && keyfileUUID(text) == p.UUID {
				return true
			}
		}
	}
	return false
}

func onDisk(files map[string]string, at folders) map[string]string {
	out := maps.Clone(files)
	maps.DeleteFunc(out, func(path, _ string) bool { return at.isVolatile(path) })
	return out
}

// withoutInterfaces drops interfaces, and the routes over them.
func withoutInterfaces(d netstate.Document, drop func(iface string) bool) netstate.Document {
	d.Interfaces = slices.DeleteFunc(slices.Clone(d.Interfaces), func(i netstate.Interface) bool { return drop(i.Name) })
	if d.Routes != nil {
		routes := *d.Routes
		routes.Config = slices.DeleteFunc(slices.Clone(routes.Config), func(r netstate.Route) bool { return drop(r.NextHopInterface) })
		d.Routes = &routes
	}
	return d
}

// side is one of the two states the network can come to rest in.
type side struct {
	files   map[string]string
	state   netstate.Document
	foreign []kernel.Foreign
	global  *profile.GlobalDNS
	without []string // bridges of Open vSwitch that do not exist
	primary map[string]string
	node    netstate.Document
}

// sides says which state the network belongs in, and which it must have nothing left of.
func (r *record) sides() (right, wrong side) {
	node := nodewide.Change{}
	if r.Node != nil {
		node = *r.Node
	}
	right = side{r.Old, r.Before, r.ForeignBefore, r.GlobalOld, r.NewBridges, r.PrimaryOld, node.Old}
	wrong = side{r.New, r.After, r.ForeignAfter, r.GlobalNew, nil, r.PrimaryNew, node.New}
	if r.Phase == phaseCommitted {
		return wrong, right
	}
	return right, wrong
}

// findMissing compares the system with the side it belongs in, in words. A restarted NetworkManager
// leaves addresses it finds alone, so what is left of the other side counts.
func (n *Network) findMissing(ctx context.Context, c *client, right, wrong side) ([]string, error) {
	s, err := c.readSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	got, err := n.observeWithKernel(ctx, c, s)
	if err != nil {
		return nil, err
	}
	state := kernel.WithoutForeign(right.state, right.foreign)
	return append(netstate.Verify(state, got), findLeftovers(right, wrong, got)...), nil
}

// findLeftovers lists the addresses and routes of the wrong side that are there and have no business to.
func findLeftovers(right, wrong side, got netstate.Document) []string {
	var out []string
	for _, i := range wrong.state.Interfaces {
		for _, f := range []netstate.Family{netstate.IPv4, netstate.IPv6} {
			for _, a := range addressesOf(wrong.state, i.Name, f) {
				if !slices.Contains(addressesOf(right.state, i.Name, f), a) && hasFixedAddresses(right.state, i.Name, f) &&
					!isForeign(right.foreign, i.Name, a) && slices.Contains(addressesOf(got, i.Name, f), a) {
					out = append(out, fmt.Sprintf("interface %s still has address %s", i.Name, a))
				}
			}
		}
	}
	for _, bridge := range right.without {
		_, exists := got.Find(bridge, netstate.TypeOVSBridge)
		if _, err := net.InterfaceByName(bridge); exists || err == nil { // Open vSwitch deletes the link some time later
			out = append(out, fmt.Sprintf("ovs-bridge %s is still there", bridge))
		}
	}
	for _, r := range wrong.state.Routes.Config {
		same := func(o netstate.Route) bool { return netstate.SameRoute(o, r) }
		if !r.Removes() && !slices.ContainsFunc(right.state.Routes.Config, same) && slices.ContainsFunc(got.Routes.Config, same) {
			out = append(out, fmt.Sprintf("route %s is still there", r))
		}
	}
	return out
}

func addressesOf(d netstate.Document, iface string, f netstate.Family) []netip.Prefix {
	var out []netip.Prefix
	for _, i := range d.Interfaces {
		if i.Name == iface {
			all, _ := f.Of(i).Prefixes() // both sides were read from a system or validated
			out = append(out, all...)
		}
	}
	return out
}

// hasFixedAddresses says that the side knows every address the family should have.
func hasFixedAddresses(d netstate.Document, iface string, f netstate.Family) bool {
	return slices.ContainsFunc(d.Interfaces, func(i netstate.Interface) bool {
		return i.Name == iface && f.Of(i) != nil && !f.Of(i).Auto()
	})
}

func isForeign(all []kernel.Foreign, iface string, p netip.Prefix) bool {
	return slices.ContainsFunc(all, func(f kernel.Foreign) bool { return f.Iface == iface && slices.Contains(f.Addresses, p.String()) })
}
