package change_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

func TestTheLastOutageIsTheBestGuess(t *testing.T) {
	w := newWorld(t)
	require.Zero(t, change.LastOutage(w.node.Files()))
	w.arrival = func(w *world) { w.clock.now = w.clock.now.Add(3 * time.Minute) } // the reboot
	require.NoError(t, w.Live(nil))
	took := change.LastOutage(w.node.Files())
	require.GreaterOrEqual(t, took, 3*time.Minute)
	require.Less(t, took, time.Hour)
}

// foresight is a Forecaster.
type foresight struct {
	err               error
	warnings, blocked []string
}

func (f foresight) Forecast(context.Context, []byte) (change.Forecast, error) {
	return change.Forecast{Certificates: []string{"CN=a", "CN=b"}, Objects: []string{"/x"}, Warnings: f.warnings, Blocked: f.blocked}, f.err
}

// What brings the old address back is told before the cluster is stopped, and stops nothing.
func TestWarningsAreKnownBeforeTheOutage(t *testing.T) {
	for warnings, listed := range map[int]int{0: 0, 2: 2, 20: 20, 22: 21} {
		w := newWorld(t)
		w.forecaster = foresight{warnings: slices.Repeat([]string{"a NodeNetworkConfigurationPolicy"}, warnings)}
		var seen change.Counts
		w.arrival = func(w *world) { seen, _ = change.ReadForecast(w.node.Files()) }
		require.NoError(t, w.Live(nil))
		require.Len(t, seen.Warnings, listed)
		if warnings > listed {
			require.Equal(t, "2 more: see lca-cli ip-config plan", seen.Warnings[listed-1])
		}
	}
}

// TestAForecastThatIsBlockedMattersToTheEngineItWasMadeOf lets another engine try.
func TestAForecastThatIsBlockedMattersToTheEngineItWasMadeOf(t *testing.T) {
	w := newWorld(t)
	w.forecaster = foresight{blocked: []string{"/x: cannot be read"}}
	w.post.RecertImage = recertImage
	require.NoError(t, w.Live(nil))
	verdict, judged := w.Judge()
	require.NoError(t, judged)
	require.Equal(t, "new", verdict)
}

func TestWhatRecertIsGoingToDoIsCountedBeforehand(t *testing.T) {
	for name, err := range map[string]error{"known": nil, "not known": errors.New("etcd is busy")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.forecaster = foresight{err: err}
			var seen change.Counts
			var found bool
			w.arrival = func(w *world) { seen, found = change.ReadForecast(w.node.Files()) }
			require.NoError(t, w.Live(nil))
			verdict, judged := w.Judge()
			require.NoError(t, judged)
			require.Equal(t, "new", verdict, "with or without")
			require.Equal(t, err == nil, found)
			if found {
				require.Equal(t, change.Counts{Certificates: 2, Objects: 1}, seen)
			}
		})
	}
}
