package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/crashtest"
)

// record traces act on a root that holds /etc/file with "old" and mode 0600, a link to it, and a tree.
func record(t *testing.T, act func(f *Files) error) *crashtest.Trace {
	t.Helper()
	return crashtest.Record(t, func(root string) error {
		f := New(root)
		for _, path := range []string{"/etc/file", "/tree/a/b", "/tree/c"} {
			if err := f.Write(path, []byte("old\n"), 0o600); err != nil {
				return err
			}
		}
		return os.Symlink("etc/file", filepath.Join(root, "link"))
	}, func(root string) error { return act(New(root)) })
}

// content describes a file in one word, so that it can be compared with what is allowed.
func content(s crashtest.State, path string) string {
	if !s.Exists(path) {
		return "missing"
	}
	return fmt.Sprintf("%o %q", s.Mode(path), s.Data(path))
}

func TestPowerCutDuringWrite(t *testing.T) {
	const long = "a new content that is longer than the old one\n"
	written := fmt.Sprintf("640 %q", long)
	for _, c := range []struct{ name, path, target, old string }{
		{"replaced", "/etc/file", "/etc/file", `600 "old\n"`},
		{"replaced through a link", "/link", "/etc/file", `600 "old\n"`},
		{"new", "/etc/new", "/etc/new", "missing"},
		{"new in new folders", "/var/lib/lca/new", "/var/lib/lca/new", "missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := record(t, func(f *Files) error { return f.Write(c.path, []byte(long), 0o640) })
			tr.Check(t, func(s crashtest.State, finished bool) error {
				got := content(s, c.target)
				if got == written || (got == c.old && !finished) {
					return nil
				}
				return fmt.Errorf("%s is %s", c.target, got)
			})
		})
	}
}

func TestPowerCutDuringAppend(t *testing.T) {
	const one, two = "one record\n", "two record\n"
	for _, c := range []struct{ name, path, old string }{
		{"to a file", "/etc/file", "old\n"},
		{"to a new file", "/var/log/journal", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := record(t, func(f *Files) error {
				if err := f.Append(c.path, []byte(one), 0o600); err != nil {
					return err
				}
				return f.Append(c.path, []byte(two), 0o600)
			})
			tr.Check(t, func(s crashtest.State, finished bool) error {
				if got := s.Data(c.path); appended(c.old, []string{one, two}, got, finished) {
					return nil
				}
				return fmt.Errorf("%s is %s", c.path, content(s, c.path))
			})
		})
	}
}

// appended accepts whole records in their order with at most one torn record at the end.
func appended(old string, records []string, got string, finished bool) bool {
	if finished {
		return got == old+strings.Join(records, "")
	}
	rest, ok := strings.CutPrefix(got, old)
	if !ok {
		return false
	}
	for _, r := range records {
		after, whole := strings.CutPrefix(rest, r)
		if !whole {
			return !strings.Contains(rest, "\n")
		}
		rest = after
	}
	return rest == ""
}

func TestPowerCutDuringRemove(t *testing.T) {
	for _, path := range []string{"/etc/file", "/tree", "/link"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			tr := record(t, func(f *Files) error { return f.Remove(path) })
			tr.Check(t, func(s crashtest.State, finished bool) error {
				if finished && s.Exists(path) {
					return fmt.Errorf("%s came back after it was removed", path)
				}
				if path != "/etc/file" && content(s, "/etc/file") != `600 "old\n"` {
					return fmt.Errorf("/etc/file is %s", content(s, "/etc/file"))
				}
				return nil
			})
		})
	}
}

// A removal flushes the folder also where there was nothing to remove: what another program removed in it without a flush
// stays removed.
func TestPowerCutAfterARemovalOfNothing(t *testing.T) {
	tr := crashtest.Record(t,
		func(dir string) error { return os.WriteFile(filepath.Join(dir, "theirs"), []byte("old\n"), 0o600) },
		func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "theirs")); err != nil {
				return err
			}
			return New(dir).Remove("/nothing")
		})
	tr.Check(t, func(s crashtest.State, finished bool) error {
		if finished && s.Exists("/theirs") {
			return errors.New("what another program had removed came back")
		}
		return nil
	})
}

func TestPowerCutDuringMakeFolder(t *testing.T) {
	tr := record(t, func(f *Files) error { return f.MakeFolder("/var/lib/lca") })
	tr.Check(t, func(s crashtest.State, finished bool) error {
		if finished && !s.Exists("/var/lib/lca") {
			return fmt.Errorf("/var/lib/lca is lost")
		}
		return nil
	})
}
