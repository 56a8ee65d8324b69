package change_test

import (
	"bytes"
	"context"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// TestANodeThatWasChangedBeforeFindsItsWayBack loses request and journal in the second change of a node, whose old stateroot
// this product has made as well.
func TestANodeThatWasChangedBeforeFindsItsWayBack(t *testing.T) {
	lost := func(w *world) {
		require.NoError(w.t, w.node.Files().Remove(arrived(w)))
		require.NoError(w.t, w.node.Files().Remove(ipconfig.RequestFile))
	}
	for _, c := range []struct {
		name    string
		happens func(*world)
	}{
		{"by the name in the units, with another stateroot beside it", func(w *world) {
			_, err := w.node.Deployments().Clone(context.Background(), "a-copy")
			require.NoError(w.t, err)
			lost(w)
		}},
		{"by being the only other one", func(w *world) {
			for _, unit := range []string{ipconfig.UnitIPConfiguration, ipconfig.UnitInitMonitor} {
				file := path.Join(host.UnitDir, unit)
				text, err := w.node.Files().Read(file)
				require.NoError(w.t, err)
				require.NoError(w.t, w.node.Files().Write(file, withoutKey(text, ipconfig.UnitKeyOldStateroot), 0o600))
			}
			lost(w)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.Live(nil))
			first := w.node.Describe().Booted
			require.NotEqual(t, oldStateroot, first)
			ctx := context.Background()
			require.NoError(t, w.node.Run(ctx, func(ctx context.Context) error {
				return w.launch(ctx, ipconfig.UnitCleanup, "ip-config", "cleanup")
			}))
			require.NoError(t, w.rest(ctx))

			w.arrival = c.happens
			require.NoError(t, w.node.Run(ctx, func(ctx context.Context) error { return w.ask(ctx, farSite, newSite) }))
			require.NoError(t, w.rest(ctx))
			require.Equal(t, first, w.node.Describe().Booted, "%v", w.node.Failures())
			require.NoError(t, w.node.ClusterUp())
			require.Equal(t, []string{newSite.address}, w.node.Describe().Stateroots[first].Keystore)
		})
	}
}

// withoutKey removes the lines of a unit file that set a key.
func withoutKey(text []byte, key string) []byte {
	var kept [][]byte
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		if !bytes.HasPrefix(line, []byte(key+"=")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}
