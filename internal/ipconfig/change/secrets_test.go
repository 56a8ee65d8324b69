package change_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// What the cluster of the fake node gives away to pre-pivot.
const (
	planted           = "UExBTlRFRA"
	plantedKey        = "-----BEGIN RSA PRIVATE KEY-----\n" + planted + "\n-----END RSA PRIVATE KEY-----\n"
	plantedPullSecret = `{"auths":{"registry.example":{"auth":"` + planted + `"}}}`
)

// where lists the files that hold a planted secret.
func (w *world) where() []string {
	var found []string
	for p, content := range w.node.Snapshot(true) {
		if strings.Contains(content, planted) {
			found = append(found, p)
		}
	}
	return found
}

// blabbing is a recert that quotes a key in its error, as a careless library might.
type blabbing struct{}

func (blabbing) Run(context.Context, string) error {
	return fmt.Errorf("cannot use %s with {\"auth\":%q}", plantedKey, planted)
}

// listening makes the world keep what is logged, as the programs log it.
func (w *world) listening() *bytes.Buffer {
	heard := &bytes.Buffer{}
	w.log = slog.New(slog.NewTextHandler(heard, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: operation.RedactAttr}))
	return heard
}

// TestSecretsLieInARootOnlyPlaceWhileTheyAreNeeded looks at them at the moment of the flip, and at the arrival.
func TestSecretsLieInARootOnlyPlaceWhileTheyAreNeeded(t *testing.T) {
	w := newWorld(t)
	looked := 0
	look := func() {
		looked++
		found := w.where()
		require.Len(t, found, 2, "%v", found)
		for _, p := range found {
			require.Contains(t, p, "rhcos_ipc-", "the old stateroot has none any more")
			w.requirePrivate(p)
		}
	}
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if s.Name == ipconfig.StepFlip || s.Name == ipconfig.StepApplyNetwork {
				p.Steps[i].Do = func(ctx context.Context) error { look(); return s.Do(ctx) }
			}
		}
		return p
	}
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Equal(t, 2, looked)
}

// requirePrivate says that only root reads the file, and only root gets to it.
func (w *world) requirePrivate(file string) {
	w.t.Helper()
	info, err := w.node.Files().Stat(file)
	require.NoError(w.t, err)
	require.Equal(w.t, fs.FileMode(0o600), info.Mode().Perm(), file)
	private := false
	for dir := path.Dir(file); strings.Contains(dir, "/lib/lca"); dir = path.Dir(dir) {
		info, err := w.node.Files().Stat(dir)
		require.NoError(w.t, err)
		private = private || info.Mode().Perm() == 0o700
	}
	require.True(w.t, private, "%s is reachable", file)
}

// TestNoSecretOutlivesTheChange ends a change in every way there is: nowhere on the disk, in no journal, bundle or
// log is anything left of what was collected.
func TestNoSecretOutlivesTheChange(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*world)
		verdict string
	}{
		{"kept, with the way back", func(*world) {}, "new"},
		{"rolled back on request", func(w *world) { w.then = rollBackOnRequest }, "old"},
		{"rolled back by itself", func(w *world) { w.recert = blabbing{} }, "old"},
		{"network never proved", func(w *world) { w.node.Silence(newGateway()) }, "old"},
		{"rolled back before the flip", func(w *world) {
			w.wrap = func(p flow.Plan) flow.Plan {
				for i, s := range p.Steps {
					if s.Name == ipconfig.StepSeal {
						p.Steps[i].Do = func(context.Context) error { return errors.New("cannot seal " + plantedKey) }
					}
				}
				return p
			}
		}, "old"},
		{"power cut before the flip", func(w *world) {
			cut := false
			stoppedAt(w, ipconfig.StepSeal, func(func()) {
				if !cut {
					cut = true
					w.node.CutHere()
				}
			})
		}, "old"},
		{"request lost on the way", func(w *world) {
			w.arrival = func(w *world) { require.NoError(w.t, w.node.Files().Remove(ipconfig.RequestFile)) }
		}, "old"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			heard := w.listening()
			c.arrange(w)
			require.NoError(t, w.Live(nil))
			w.requireVerdict(c.verdict)
			require.Empty(t, w.where(), "left on the disk")
			require.NotEmpty(t, heard.String())
			require.NotContains(t, heard.String(), planted)
		})
	}
}
