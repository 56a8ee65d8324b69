package change_test

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// TestWhatTheSiteDidToTheUnitsDoesNotStopAChange has a drop-in of each installed unit on the node, or a mask.
func TestWhatTheSiteDidToTheUnitsDoesNotStopAChange(t *testing.T) {
	units := []string{ipconfig.UnitIPConfiguration, ipconfig.UnitInitMonitor, host.UnitKubelet}
	for name, arrange := range map[string]func(w *world, file string) error{
		"drop-ins": func(w *world, file string) error {
			return w.node.Files().Write(file+".d/50-site.conf", []byte("[Service]\nNice=3\n"), 0o644)
		},
		"masks": func(w *world, file string) error {
			if path.Base(file) == host.UnitKubelet {
				return nil
			}
			return w.node.Files().(hostcontract.Linker).Symlink("/dev/null", file)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, unit := range units {
				require.NoError(t, arrange(w, path.Join(host.UnitDir, unit)))
			}
			require.NoError(t, w.Live(nil))
			require.Empty(t, w.node.Failures())
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Equal(t, "new", verdict)
			for _, op := range w.node.Ops() {
				require.NotContains(t, op.Target, "/dev/null", "nothing is written through a mask")
			}
		})
	}
}
