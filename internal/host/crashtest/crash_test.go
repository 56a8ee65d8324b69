package crashtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// replace is a replacement of root/file that leaves out what it is asked to.
func replace(root string, syncFile, syncFolder bool) error {
	temp := filepath.Join(root, "temp")
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.WriteString("new contents")
	if syncFile {
		err = errors.Join(err, f.Sync())
	}
	err = errors.Join(err, f.Close(), os.Rename(temp, filepath.Join(root, "file")))
	if !syncFolder {
		return err
	}
	dir, derr := os.Open(root)
	if derr != nil {
		return derr
	}
	defer dir.Close()
	return errors.Join(err, dir.Sync())
}

func before(root string) error {
	return os.WriteFile(filepath.Join(root, "file"), []byte("old"), 0o600)
}

func oldOrNew(s State, finished bool) error {
	got := s.Data("/file")
	if got == "new contents" || (got == "old" && !finished) {
		return nil
	}
	return fmt.Errorf("file holds %q", got)
}

func TestRecordedReplacements(t *testing.T) {
	for _, c := range []struct {
		name             string
		syncFile, folder bool
		refused          string
	}{
		{"complete", true, true, ""},
		{"file not flushed", false, true, `after rename: file holds ""`},
		{"folder not flushed", true, false, `after the end of the change: file holds "old"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := Record(t, before, func(root string) error { return replace(root, c.syncFile, c.folder) })
			states, err := tr.checkStates(oldOrNew)
			if c.refused == "" {
				require.NoError(t, err)
				require.Greater(t, states, len(tr.h.cuts))
				return
			}
			require.ErrorContains(t, err, c.refused)
		})
	}
}

func TestEveryCombinationOfUnflushedFiles(t *testing.T) {
	for name, count := range map[string]int{"all": 3, "one at a time": 9} {
		t.Run(name, func(t *testing.T) {
			tr := Record(t, func(string) error { return nil }, func(root string) error {
				for i := range count {
					if err := os.WriteFile(filepath.Join(root, fmt.Sprint(i)), []byte("xy"), 0o600); err != nil {
						return err
					}
				}
				return nil
			})
			seen := map[string]bool{}
			_, err := tr.checkStates(func(s State, finished bool) error {
				if finished {
					seen[fmt.Sprintf("%q", s.Below("/"))] = true
				}
				return nil
			})
			require.NoError(t, err)
			files := map[string]string{}
			for i := range count {
				files[fmt.Sprint(i)] = "-rw------- xy"
			}
			require.True(t, seen[fmt.Sprintf("%q", files)], "everything may have arrived")
			files["1"] = "-rw------- \x00\x00"
			require.True(t, seen[fmt.Sprintf("%q", files)], "the size of a file may have arrived alone")
			require.True(t, seen["map[]"], "no name may have arrived")
		})
	}
}

// A number that a removed file had may come again at once.
func TestAnInodeNumberThatComesAgain(t *testing.T) {
	old := version{mode: 0o600, data: "old"}
	h := newHistory(snapshot{root: 1, byInode: map[uint64]version{1: {entries: map[string]int{"a": 7}}, 7: old}})
	h.addVersions(snapshot{root: 1, byInode: map[uint64]version{1: {entries: map[string]int{}}}})
	h.addVersions(snapshot{root: 1, byInode: map[uint64]version{1: {entries: map[string]int{"b": 7}}, 7: {mode: 0o600, data: "new"}}})
	h.addCut("all", true)
	tr := &Trace{h}
	_, err := tr.checkStates(func(s State, _ bool) error {
		if s.Data("/b") == "old" || s.Data("/a") == "new" {
			return errors.New("one file was taken for the other")
		}
		return nil
	})
	require.NoError(t, err)
}
