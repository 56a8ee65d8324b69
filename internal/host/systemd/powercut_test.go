package systemd

import (
	"fmt"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/crashtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
)

// The next boot of the other system depends on units that were enabled in it: the links have to be on the disk.
func TestPowerCutAfterEnableIn(t *testing.T) {
	const unit, link = "/etc/systemd/system/x.service", "/etc/systemd/system/multi-user.target.wants/x.service"
	write := func(root string) error {
		return files.New(root).Write("/deployment"+unit, []byte("[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"), 0o644)
	}
	for name, enabled := range map[string]bool{"enabled": true, "disabled": false} {
		t.Run(name, func(t *testing.T) {
			tr := crashtest.Record(t, write, func(root string) error {
				m := New(Options{Root: root})
				if err := m.EnableIn(t.Context(), "/deployment", "x.service"); err != nil || enabled {
					return err
				}
				return m.DisableIn(t.Context(), "/deployment", "x.service")
			})
			tr.Check(t, func(s crashtest.State, finished bool) error {
				if got := s.Exists("/deployment" + link); finished && got != enabled {
					return fmt.Errorf("the link exists: %t, want %t", got, enabled)
				}
				return nil
			})
		})
	}
}
