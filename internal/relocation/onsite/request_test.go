package onsite_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
)

// damagedRequests are what a disk, a person or a newer version may leave in the file.
var damagedRequests = map[string]string{
	"empty": "", "zeros": "\x00\x00", "truncated": `{"operation-id": "20260102-`, "another file": `{}`,
	"of a newer version": `{"operation-id": "x", "factory-stateroot": "rhcos", "site-stateroot": "y", "new": true}`,
}

func (w *world) damageWith(data string) {
	w.t.Helper()
	require.NoError(w.t, w.node.Seed(relocation.RequestFile, []byte(data)))
}

// held says whether a reconfiguration holds the node.
func (w *world) held() bool {
	w.t.Helper()
	_, found, err := onsite.Reservation(w.node.Ports()).Unfinished(w.t.Context())
	require.NoError(w.t, err, "a damaged request must not keep the node from every other operation")
	return found
}

// TestADamagedRequestKeepsNoNodeFromItsSite: nothing of it is under way, so it counts as none.
func TestADamagedRequestKeepsNoNodeFromItsSite(t *testing.T) {
	for name, damage := range damagedRequests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			require.NoError(t, w.prepare())
			require.NoError(t, w.switchOn())
			w.damageWith(damage)
			require.False(t, w.held())
			require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.service().Watch(ctx, nil) }))

			var log bytes.Buffer
			s := w.service()
			s.Log = slog.New(slog.NewTextHandler(&log, nil))
			require.ErrorIs(t, s.Run(t.Context()), errNothing, "it waits for a configuration")
			require.ErrorIs(t, s.Run(t.Context()), errNothing)
			require.Equal(t, 1, strings.Count(log.String(), "file="+relocation.RequestFile), "it is logged once: %s", log.String())

			w.damageWith(damage)
			w.stick = siteFor("198.51.100")
			require.NoError(t, w.switchOn())
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Equal(t, "home", verdict)

			w.damageWith(damage)
			require.False(t, w.held())
			require.NoError(t, w.Again(), "there is a way back, and from there to another site")
		})
	}
}

// cutAt is a node at its site whose power is cut before a step, and whose request is damaged then.
func cutAt(t *testing.T, step, damage string) *world {
	t.Helper()
	w := newWorld(t, false)
	w.node.Command("lca-cli relocation reconfigure", func(ctx context.Context, _ []string) error {
		if w.bomb != nil && w.bomb.Spent() {
			return nil // the test does what the unit would
		}
		return w.service().Run(ctx)
	})
	require.NoError(t, w.Live(&flowtest.Bomb{Crash: flowtest.Crash{Flow: relocation.FlowReconfigure, Step: step, Where: flowtest.Before}}))
	w.damageWith(damage)
	require.True(t, w.held(), "its journal says that it is under way")
	return w
}

// TestAReconfigurationWithADamagedRequestHasAWayBack: its journal shows it under way, and says what the file does not.
func TestAReconfigurationWithADamagedRequestHasAWayBack(t *testing.T) {
	for name, back := range map[string]func(*world, context.Context) error{
		"a person asks": func(w *world, ctx context.Context) error { return w.service().AskBack(ctx, onsite.CauseRequested) },
		"the watchdog":  func(w *world, ctx context.Context) error { return w.service().Watch(ctx, nil) },
	} {
		for what, damage := range damagedRequests {
			t.Run(name+", "+what, func(t *testing.T) {
				w := cutAt(t, bringup.StepRecert, damage)
				require.NoError(t, w.node.Seed(relocation.LastFile, []byte("\x00")), "nor is the last result readable")
				require.NoError(t, w.during(nil, func(ctx context.Context) error { return back(w, ctx) }))
				verdict, err := w.Judge()
				require.NoError(t, err)
				require.Equal(t, "factory", verdict)
				last, err := relocation.ReadLast(w.node.Files())
				require.NoError(t, err)
				require.NotEmpty(t, operation.Records(w.node.Files(), last.OperationID), "it is named, and its journal came along")
			})
		}
	}
}

// TestAReconfigurationContinuesWithoutItsRequest, and says which file is damaged and what ends it instead.
func TestAReconfigurationContinuesWithoutItsRequest(t *testing.T) {
	w := cutAt(t, bringup.StepRecert, "\x00")
	var log bytes.Buffer
	s := w.service()
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	require.NoError(t, w.node.Run(t.Context(), s.Run))
	require.Contains(t, log.String(), relocation.RequestFile)
	require.Contains(t, log.String(), "'lca-cli relocation rollback'")
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "home", verdict)
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, relocation.Digest([]byte(w.stick)), last.Digest, "the same stick is not applied again")
}

// TestCrashMatrixWithADamagedRequest damages the request wherever the node is cut short.
func TestCrashMatrixWithADamagedRequest(t *testing.T) {
	r := relocation.Request{OperationID: "x", Factory: "o", Site: "n"}
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		for part, m := range map[string]struct {
			plan  flow.Plan
			world func(*world) flowtest.World
		}{
			"there": {(&onsite.Reconfiguration{Request: r}).Plan(), func(w *world) flowtest.World { return w }},
			"back":  {(&onsite.Back{Request: r}).Plan(), func(w *world) flowtest.World { return returning{w} }},
			"again": {factory.Again(factory.Ports{}, r), func(w *world) flowtest.World { return returning{w} }},
		} {
			t.Run(name+", "+part, func(t *testing.T) {
				t.Parallel()
				got := flowtest.Matrix(t, []flow.Plan{m.plan}, func(t *testing.T) flowtest.World {
					w := newWorld(t, kill)
					w.damage = []byte("\x00\x00")
					return m.world(w)
				})
				t.Logf("%s, %s: %s", name, part, got)
				require.Equal(t, got.Cells, got.Verdicts["home"], "whatever happens on the way, the node gets home")
			})
		}
	}
}
