package flow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
)

// Store keeps a journal's bytes.
type Store interface {
	// Read returns everything, or an error matching fs.ErrNotExist.
	Read() ([]byte, error)
	// Append adds bytes and returns when they would survive a power cut.
	Append(data []byte) error
}

// ErrUnreadable marks a journal that holds something this version does not
// understand. Whoever meets it must not go on as if nothing had happened.
var ErrUnreadable = errors.New("journal is not readable by this version")

// Journal is the append-only record of one operation: JSON, one entry a line.
type Journal struct {
	store Store
}

// OpenJournal reads and writes the journal in the store.
func OpenJournal(store Store) *Journal { return &Journal{store: store} }

// Entries returns all entries in order; none where there is no journal yet. A torn
// last line, left by a power cut while it was written, is passed over.
func (j *Journal) Entries() ([]Entry, error) {
	data, err := j.store.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return Decode(data)
}

// Decode reads a journal's bytes; see Entries.
func Decode(data []byte) ([]Entry, error) {
	lines := bytes.Split(data, []byte("\n"))
	entries := make([]Entry, 0, len(lines))
	for i, line := range lines {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			if torn(lines, i) {
				continue
			}
			return entries, fmt.Errorf("%w: line %d: %w", ErrUnreadable, i+1, err)
		}
		if e.Version != SchemaVersion {
			return entries, fmt.Errorf("%w: line %d has schema version %d, this program knows %d",
				ErrUnreadable, i+1, e.Version, SchemaVersion)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// torn says that line i was cut short by a power cut: either it is the last one, or
// the writer that came after began its own line behind it (see add).
func torn(lines [][]byte, i int) bool {
	last := i == len(lines)-1
	return last || len(lines[i+1]) == 0
}

// add writes one entry. Where the store ends in a torn line, it is closed
// with an empty line first, so that the new entry stands on its own.
func (j *Journal) add(e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode journal entry: %w", err)
	}
	prefix, err := j.closeTorn()
	if err != nil {
		return err
	}
	if err := j.store.Append(append(append(prefix, line...), '\n')); err != nil {
		return fmt.Errorf("write journal entry %s %s: %w", e.Kind, e.Step, err)
	}
	return nil
}

func (j *Journal) closeTorn() ([]byte, error) {
	data, err := j.store.Read()
	if errors.Is(err, fs.ErrNotExist) || len(data) == 0 && err == nil {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	if data[len(data)-1] != '\n' {
		return []byte("\n\n"), nil
	}
	return nil, nil
}
