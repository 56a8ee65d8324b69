package operation

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Folders of the records, in each stateroot's /var. They stay after the operation, also after a rollback.
const (
	// JournalDir keeps one journal per operation.
	JournalDir = host.StateDir + "/journal"
	// EvidenceDir keeps evidence bundles, one folder per operation.
	EvidenceDir = host.StateDir + "/evidence"
)

// JournalPath is where the operation's journal is, in the stateroot that runs.
func JournalPath(operation string) string { return path.Join(JournalDir, operation+".jsonl") }

// PivotedJournalPath is where the old stateroot keeps what the new one wrote.
func PivotedJournalPath(operation string) string {
	return path.Join(JournalDir, operation+".pivoted.jsonl")
}

// List names the operations on record, oldest first.
func List(files host.Files) ([]string, error) {
	names, err := files.List(JournalDir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", JournalDir, err)
	}
	var ids []string
	for _, name := range names { // they begin with the time
		id, _, _ := strings.Cut(name, ".")
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func recordPaths(id string) []string {
	return []string{JournalPath(id), PivotedJournalPath(id), EvidencePath(id)}
}

// Records lists the files and folders that hold an operation's records on this node.
func Records(files host.Files, operation string) (paths []string) {
	for _, p := range recordPaths(operation) {
		if _, err := files.Stat(p); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// Span is how long it took, in the newest operation on record that got there, from the beginning of one step to
// the end of a later one; 0 where none did.
func Span(files host.Files, from, to string) time.Duration {
	ids, err := List(files)
	if err != nil {
		return 0
	}
	for _, id := range slices.Backward(ids) {
		entries, err := ReadEntries(files, id)
		if err != nil {
			continue
		}
		if took := measureSpan(entries, from, to); took > 0 {
			return took
		}
	}
	return 0
}

func measureSpan(entries []flow.Entry, from, to string) time.Duration {
	var began time.Time
	for _, e := range entries {
		switch {
		case e.Step == from && e.Kind == flow.KindIntent:
			began = e.Time
		case e.Step == to && e.Kind == flow.KindDone && !began.IsZero():
			return e.Time.Sub(began)
		}
	}
	return 0
}

// ReadEntries merges the two parts of an operation's journal. The order of writing counts, never the times: a clock
// may be set, in either direction, while an operation runs.
func ReadEntries(files host.Files, operation string) ([]flow.Entry, error) {
	own, err := readJournal(files, JournalPath(operation))
	if err != nil {
		return nil, err
	}
	pivoted, err := readJournal(files, PivotedJournalPath(operation))
	if err != nil {
		return nil, err
	}
	return mergeEntries(own, pivoted), nil
}

// mergeEntries inserts what the other stateroot wrote after everything that this one wrote before the reboot into it, which is
// the boot of the last entry both have, and before everything that this one wrote later.
func mergeEntries(own, pivoted []flow.Entry) []flow.Entry {
	known := map[string]bool{}
	for _, e := range own {
		known[entryIdentity(e)] = true
	}
	var other []flow.Entry
	left := ""
	for _, e := range pivoted {
		if known[entryIdentity(e)] {
			left = e.Boot
			continue
		}
		other = append(other, e)
	}
	at := len(own)
	for at > 0 && left != "" && own[at-1].Boot != left {
		at--
	}
	return slices.Insert(slices.Clone(own), at, other...)
}

// entryIdentity is equal for the copies of an entry that both stateroots hold.
func entryIdentity(e flow.Entry) string {
	return fmt.Sprint(e.Seq, e.Time.UnixNano(), e.Flow, e.Kind, e.Step)
}

func readJournal(files host.Files, path string) ([]flow.Entry, error) {
	data, err := files.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read journal %s: %w", path, err)
	}
	return flow.Salvage(data), nil
}

// journalFile keeps a journal in a file of the node.
type journalFile struct {
	files host.Files
	path  string
}

func (j journalFile) Read() ([]byte, error) { return j.files.Read(j.path) }

func (j journalFile) Append(data []byte) error { return j.files.Append(j.path, data, 0o600) }
