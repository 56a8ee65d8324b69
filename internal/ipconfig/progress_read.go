package ipconfig

import (
	"errors"
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// JournalPath is where the operation's journal is, in the stateroot that runs.
func JournalPath(operation string) string { return host.JournalDir + "/" + operation + ".jsonl" }

// PivotedJournalPath is where the old stateroot keeps what the new one wrote.
func PivotedJournalPath(operation string) string {
	return host.JournalDir + "/" + operation + ".pivoted.jsonl"
}

// ReadProgress reads the operation's journal, and the part that a rollback
// brought back from the other stateroot.
func ReadProgress(files host.Files, operation string) (Progress, error) {
	entries, err := ReadEntries(files, operation)
	if err != nil {
		return Progress{}, err
	}
	return Project(operation, entries), nil
}

// ReadEntries merges the two parts of an operation's journal. The order of writing counts, never
// the times: a clock may be set, in either direction, while a change runs.
func ReadEntries(files host.Files, operation string) ([]flow.Entry, error) {
	own, err := readJournal(files, JournalPath(operation))
	if err != nil {
		return nil, err
	}
	pivoted, err := readJournal(files, PivotedJournalPath(operation))
	if err != nil {
		return nil, err
	}
	return merge(own, pivoted), nil
}

// merge puts what the other stateroot wrote where it belongs: after all that this one wrote before
// it left, in the boot of the last entry both have, and before all that it wrote when it was back.
func merge(own, pivoted []flow.Entry) []flow.Entry {
	known := map[string]bool{}
	for _, e := range own {
		known[identity(e)] = true
	}
	var theirs []flow.Entry
	left := ""
	for _, e := range pivoted {
		if known[identity(e)] {
			left = e.Boot
			continue
		}
		theirs = append(theirs, e)
	}
	at := len(own)
	for at > 0 && left != "" && own[at-1].Boot != left {
		at--
	}
	return slices.Insert(slices.Clone(own), at, theirs...)
}

// identity tells entries of one operation apart; the copies that both stateroots hold are the same.
func identity(e flow.Entry) string {
	return fmt.Sprint(e.Seq, e.Time.UnixNano(), e.Flow, e.Kind, e.Step)
}

func readJournal(files host.Files, path string) ([]flow.Entry, error) {
	entries, err := flow.OpenJournal(journalFile{files, path}).Entries()
	if err != nil && !errors.Is(err, flow.ErrUnreadable) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, nil
}

// journalFile keeps a journal in a file of the node.
type journalFile struct {
	files host.Files
	path  string
}

func (j journalFile) Read() ([]byte, error) { return j.files.Read(j.path) }

func (j journalFile) Append(data []byte) error { return j.files.Append(j.path, data, 0o600) }
