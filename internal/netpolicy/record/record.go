package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Folders below Dir. The formats are versioned by their field v.
const (
	// Dir is the domain's own folder in the stateroot's /var.
	Dir          = host.StateDir + "/netpolicy"
	committedDir = Dir + "/committed"
	historyDir   = Dir + "/history"
)

// version of the stored formats.
const version = 1

// KeptHistory is how many changes can be undone.
const KeptHistory = 20

// Committed is what a policy has in force on this node.
type Committed struct {
	Version int `json:"v"`
	// Policy names the policy; UID tells a policy from an earlier one of its name.
	Policy     string `json:"policy"`
	UID        string `json:"uid,omitempty"`
	Generation int64  `json:"generation"`
	// Operation committed it at the time.
	Operation string    `json:"operation"`
	Time      time.Time `json:"time"`
	// Document is the resolved document, Revert the one that restores what was there before the policy came.
	Document string `json:"document"`
	Revert   string `json:"revert,omitempty"`
	// Before are the document's interfaces as they were before the policy came. A way back cannot say of a setting that it had no
	// value.
	Before string `json:"before,omitempty"`
	// Captured are the captured states by name, as the first enactment resolved them.
	Captured map[string]string `json:"captured,omitempty"`
	// Ephemeral: the document is in force until the node reboots out of Boot.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Boot and Stateroot are those in which the document was last known to be in force. A clone of a stateroot has its records, but
	// not its network. Stateroot is empty on a node without ostree.
	Boot      string `json:"boot,omitempty"`
	Stateroot string `json:"stateroot,omitempty"`
	// Undone says which operation undid it; empty while it is in force.
	Undone string `json:"undone,omitempty"`
}

// InForce says that the node is to have the document now.
func (c Committed) InForce(boot string) bool {
	return c.Undone == "" && (!c.Ephemeral || c.Boot == boot)
}

// Of says that the way back and the captures of the record are of the network that a stateroot has. Those of another one are of a
// network that is gone.
func (c Committed) Of(uid, stateroot string) bool { return c.UID == uid && c.Stateroot == stateroot }

// Change is one entry of the history.
type Change struct {
	Version    int       `json:"v"`
	Operation  string    `json:"operation"`
	Policy     string    `json:"policy"`
	Generation int64     `json:"generation"`
	Time       time.Time `json:"time"`
	// Document was applied, Revert undoes it.
	Document string `json:"document"`
	Revert   string `json:"revert"`
	// Undoes names the operation that this change undid; Undone the one that undid this change.
	Undoes string `json:"undoes,omitempty"`
	Undone string `json:"undone,omitempty"`
	// Stateroot is where the change was made; empty on a node without ostree.
	Stateroot string `json:"stateroot,omitempty"`
}

// ErrElsewhere is returned for a change of another stateroot, or of one that is not known: its way back is of another network.
var ErrElsewhere = errors.New("the change was not made in this stateroot")

// ErrNone is returned where nothing is on record.
var ErrNone = errors.New("nothing is on record")

// Store reads and writes the records.
type Store struct{ Files host.Files }

// Committed reads what the policy has in force; ErrNone where it has nothing.
func (s Store) Committed(policy string) (c Committed, err error) {
	return c, s.readRecord(committedFile(policy), &c)
}

// All reads what every policy has in force, by name.
func (s Store) All() ([]Committed, error) {
	names, err := s.Files.List(committedDir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", committedDir, err)
	}
	var all []Committed
	for _, name := range names {
		policy, ours := strings.CutSuffix(name, ".json")
		if !ours {
			continue
		}
		c, err := s.Committed(policy)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// Commit records what a policy has in force now.
func (s Store) Commit(c Committed) error {
	c.Version = version
	return operation.WriteJSON(s.Files, committedFile(c.Policy), c)
}

// Confirm records that a committed document is in force in this boot and stateroot, too.
func (s Store) Confirm(c Committed, boot, stateroot string) error {
	c.Boot, c.Stateroot = boot, stateroot
	return s.Commit(c)
}

// Forget removes the record of a policy.
func (s Store) Forget(policy string) error {
	if err := s.Files.Remove(committedFile(policy)); err != nil {
		return fmt.Errorf("remove the record of policy %s: %w", policy, err)
	}
	return nil
}

// Add records a change and removes the oldest ones.
func (s Store) Add(c Change) error {
	c.Version = version
	if err := operation.WriteJSON(s.Files, historyFile(c.Operation), c); err != nil {
		return err
	}
	return s.pruneHistory()
}

// History reads the changes, the newest first.
func (s Store) History() ([]Change, error) {
	names, err := s.Files.List(historyDir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", historyDir, err)
	}
	var all []Change
	for _, name := range names {
		var c Change
		if err := s.readRecord(path.Join(historyDir, name), &c); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Compare(b.Operation, a.Operation) })
	return all, nil
}

// Undoable finds the change to undo: the named one, or the newest that was neither undone nor undoes another. The clone of a
// stateroot has the history of the original; stateroot is the one that is booted, empty on a node without ostree.
func (s Store) Undoable(id, stateroot string) (Change, error) {
	all, err := s.History()
	if err != nil {
		return Change{}, err
	}
	for _, c := range all {
		if id != c.Operation && (id != "" || c.Undone != "" || c.Undoes != "") {
			continue
		}
		if c.Stateroot != stateroot {
			return c, fmt.Errorf("change %s of stateroot %q: %w", c.Operation, c.Stateroot, ErrElsewhere)
		}
		return c, nil
	}
	return Change{}, ErrNone
}

func (s Store) pruneHistory() error {
	names, err := s.Files.List(historyDir) // they begin with the time
	if err != nil {
		return fmt.Errorf("list %s: %w", historyDir, err)
	}
	slices.Sort(names)
	for _, name := range names[:max(len(names)-KeptHistory, 0)] {
		if err := s.Files.Remove(path.Join(historyDir, name)); err != nil {
			return fmt.Errorf("remove %s from the history: %w", name, err)
		}
	}
	return nil
}

// readRecord decodes a record.
func (s Store) readRecord(file string, into any) error {
	err := operation.ReadJSON(s.Files, file, into)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	return err
}

// committedFile and historyFile rely on names that the API and operation.NewID restrict to characters of a file name.
func committedFile(policy string) string { return path.Join(committedDir, path.Base(policy)+".json") }

func historyFile(id string) string { return path.Join(historyDir, path.Base(id)+".json") }
