package nm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"

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
	// Lease is the checkpoint NetworkManager holds for us.
	Lease lease `json:"lease"`
	// Profiles are those the transaction edits, makes or deletes.
	Profiles []touched `json:"profiles"`
	// Old are the key files of these profiles before, New after; by path, whole text.
	Old map[string]string `json:"old"`
	New map[string]string `json:"new,omitempty"`
	// GlobalOld and GlobalNew are the global DNS configuration, nil where it is not touched.
	GlobalOld *globalDNS `json:"globalOld,omitempty"`
	GlobalNew *globalDNS `json:"globalNew,omitempty"`
	// Before is how the interfaces concerned were, to check that they are so again.
	Before netstate.Document `json:"before"`
	// After is how they are to be: what the document demands and what their profiles keep.
	After netstate.Document `json:"after"`
	// Foreign is what other programs gave these interfaces, before and after.
	ForeignBefore []foreign `json:"foreignBefore,omitempty"`
	ForeignAfter  []foreign `json:"foreignAfter,omitempty"`
}

// touched is one profile of the transaction.
type touched struct {
	UUID   string `json:"uuid"`
	Iface  string `json:"interface"`
	Active bool   `json:"active,omitempty"` // was in force before
	Wanted bool   `json:"wanted,omitempty"` // is to be in force afterwards
}

// lease identifies a checkpoint beyond doubt: paths are used again when
// NetworkManager restarts.
type lease struct {
	Path    dbus.ObjectPath `json:"path,omitempty"`
	Owner   string          `json:"owner,omitempty"`   // unique bus name of NetworkManager
	Created int64           `json:"created,omitempty"` // ms since boot, by NetworkManager's clock
}

func (n *Network) journalPath() string { return filepath.Join(n.o.StateDir, "transaction.json") }

// load reads the journal; nil where no transaction is open.
func (n *Network) load() (*record, error) {
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

// store replaces the journal; it is on disk when store returns.
func (n *Network) store(r *record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the network journal: %w", err)
	}
	if err := n.o.Files.Write(n.journalPath(), data, 0o600); err != nil {
		return fmt.Errorf("write the network journal: %w", err)
	}
	return nil
}

func (n *Network) forget() error {
	if err := n.o.Files.Remove(n.journalPath()); err != nil {
		return fmt.Errorf("remove the network journal: %w", err)
	}
	return nil
}
