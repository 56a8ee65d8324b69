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

// ErrUnreadable marks a journal that holds something this version does not understand: any step may have begun.
var ErrUnreadable = errors.New("journal is not readable by this version")

// Journal is the append-only record of one operation: JSON, one entry a line. It remembers what it has read, so
// that a run of many steps reads its store once.
type Journal struct {
	store   Store
	loaded  bool
	entries []Entry
	// damage matches ErrUnreadable where entries is not all that the store holds.
	damage error
	// torn: the store ends inside a line, which a power cut left behind.
	torn bool
}

// OpenJournal reads and writes the journal in the store.
func OpenJournal(store Store) *Journal { return &Journal{store: store} }

// Entries returns all entries in order as the store holds them now; none where there is no journal yet. A torn
// last line is skipped. An error that matches ErrUnreadable comes with the entries before the unreadable part.
func (j *Journal) Entries() ([]Entry, error) {
	j.loaded = false
	data, err := j.store.Read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	j.entries, j.damage = Decode(data)
	j.torn = len(data) > 0 && data[len(data)-1] != '\n'
	j.loaded = true
	return j.entries, j.damage
}

// cachedEntries returns what was read last and everything added since.
func (j *Journal) cachedEntries() ([]Entry, error) {
	if j.loaded {
		return j.entries, j.damage
	}
	return j.Entries()
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
			if isTorn(lines, i) {
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

// Salvage returns every entry that can be read, also behind a part that cannot: for telling what happened, not for deciding
// what to do.
func Salvage(data []byte) []Entry {
	var entries []Entry
	for line := range bytes.Lines(data) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.Version == SchemaVersion {
			entries = append(entries, e)
		}
	}
	return entries
}

// isTorn reports whether a power cut shortened line i: it is the last one, or the writer that came after closed it
// with an empty line (see add).
func isTorn(lines [][]byte, i int) bool {
	last := i == len(lines)-1
	return last || len(lines[i+1]) == 0
}

// appendEntry numbers the entry and appends it. Where the store ends in a torn line, an empty line closes that first, so that
// the new entry stands on its own.
func (j *Journal) appendEntry(e Entry) (Entry, error) {
	before, err := j.cachedEntries()
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return e, err
	}
	e.Seq = len(before) + 1
	line, err := json.Marshal(e)
	if err != nil {
		return e, fmt.Errorf("encode journal entry: %w", err)
	}
	line = append(line, '\n')
	if j.torn {
		line = append([]byte("\n\n"), line...)
	}
	if err := j.store.Append(line); err != nil {
		j.loaded = false // part of the line may be there
		return e, fmt.Errorf("write journal entry %s %s: %w", e.Kind, e.Step, err)
	}
	j.entries, j.torn = append(j.entries, e), false
	return e, nil
}
