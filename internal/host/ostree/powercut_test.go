package ostree

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/crashtest"
)

// The caller reboots when SetDefault has returned, also where an earlier run had set the default and was cut off
// before the disk had it.
func TestPowerCutAfterSetDefault(t *testing.T) {
	for name, cutOff := range map[string]bool{"changed": false, "set by an earlier run": true} {
		t.Run(name, func(t *testing.T) {
			tr := crashtest.Record(t, func(string) error { return nil }, func(root string) error {
				f, d := bootedAt(t, root)
				if _, err := d.Clone(t.Context(), "new"); err != nil {
					return err
				}
				if cutOff {
					if err := f.move("1", 0, false); err != nil {
						return err
					}
				}
				return d.SetDefault(t.Context(), "new")
			})
			tr.Check(t, func(s crashtest.State, finished bool) error {
				menu := path.Join("/boot", s.Data("/boot/loader"), "entries/ostree-2.conf")
				if finished && !strings.Contains(s.Data(menu), "/new/") {
					return fmt.Errorf("the boot menu begins with %q after SetDefault", s.Data(menu))
				}
				return nil
			})
		})
	}
}
