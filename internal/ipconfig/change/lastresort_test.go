package change_test

import (
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// TestTheLastResortIsThereWhereTheWatchdogIs: an administrator who disables the watchdog wants no rollback by time, and what
// would bring one must not be installed beside it.
func TestTheLastResortIsThereWhereTheWatchdogIs(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"enabled":  nil,
		"disabled": {lcav1.AutoRollbackOnFailureInitMonitorAnnotation: lcav1.AutoRollbackDisableValue},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.annotations = annotations
			require.NoError(t, w.Live(nil))
			w.requireVerdict("new")
			_, err := w.node.Files().Stat(path.Join(host.UnitDir, ipconfig.UnitLastResortTimer))
			require.Equal(t, name == "enabled", err == nil, "%v", err)
			d := w.node.Describe()
			require.Equal(t, name == "enabled", slices.Contains(d.Stateroots[d.Booted].Enabled, ipconfig.UnitCheckCLI))
			_, err = w.node.Files().Stat(path.Join(host.UnitDir, ipconfig.UnitEmergency))
			require.Equal(t, name == "enabled", err == nil, "%v", err)
		})
	}
}
