package stateroot

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// HandJournal gives the stateroot that boots next the operation's journal as it stands.
func HandJournal(files host.Files, id, to string) error {
	return handJournal(files, id, host.InVar(to, operation.JournalPath(id)), to)
}

// HandBackJournal gives the stateroot that a rollback boots what the new one has journaled.
func HandBackJournal(files host.Files, id, to string) error {
	return handJournal(files, id, host.InVar(to, operation.PivotedJournalPath(id)), to)
}

func handJournal(files host.Files, id, target, to string) error {
	journal := operation.JournalPath(id)
	data, err := files.Read(journal)
	if err != nil {
		return fmt.Errorf("read %s: %w", journal, err)
	}
	if err := files.Write(target, data, 0o600); err != nil {
		return fmt.Errorf("hand the journal to stateroot %s: %w", to, err)
	}
	return nil
}

// AdoptJournal brings what the new stateroot has journaled, and could not hand back, into the one that runs: the other is removed when
// the operation ends.
func AdoptJournal(files host.Files, id, from string) (adopted bool, err error) {
	target := operation.PivotedJournalPath(id)
	if _, err := files.Stat(target); err == nil {
		return false, nil
	}
	journal := host.InVar(from, operation.JournalPath(id))
	data, err := files.Read(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", journal, err)
	}
	if err := files.Write(target, data, 0o600); err != nil {
		return false, fmt.Errorf("adopt the journal of stateroot %s: %w", from, err)
	}
	return true, nil
}
