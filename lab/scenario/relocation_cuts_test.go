//go:build lab

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

const (
	// relocationTakes is about how long a node needs to be at home, and returnTakes to be back: cuts fall into all of it.
	relocationTakes = 30 * time.Second
	returnTakes     = 15 * time.Second
	// cutsTake bounds the whole of it.
	cutsTake = 90 * time.Minute
)

// TestRelocationSurvivesPowerCuts cuts the power at random moments while a node is set up on its site and while it goes back: it
// always ends at home or in its factory state, where it can be set up again. LCA_LAB_CUTS says how often, LCA_LAB_SEED when.
func TestRelocationSurvivesPowerCuts(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	_, l, _ := node(t, "scenario-relocation-cuts")
	ctx, cancel := context.WithTimeout(context.Background(), cutsTake)
	t.Cleanup(cancel)
	want, seed := setting(t, "LCA_LAB_CUTS", 25), setting(t, "LCA_LAB_SEED", 1)
	random := rand.New(rand.NewPCG(seed, seed))
	r := &relocated{t: t, lab: l}
	r.ship(ctx)
	ended := map[string]int{}
	for cuts, round := uint64(0), 1; cuts < want; round++ {
		r.types(ctx, siteConfig(network.Away().Gateway.Addr().String()))
		cuts += r.cuts(ctx, random, relocationTakes, 1+random.Uint64N(3))
		end := r.settles(ctx)
		ended[end]++
		if end == "at-home" {
			until(ctx, t, "its API, also after a cut that came later", func() bool { return drive.Look(ctx, l, away).API })
			cuts += r.returns(ctx, random)
		}
		t.Logf("round %d ended %s; %d cuts", round, end, cuts)
	}
	t.Logf("seed %d: rounds ended %v, no node was lost", seed, ended)
	require.Positive(t, ended["at-home"], "power cuts alone do not make every attempt fail")
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// cuts cuts the power a number of times, each at a random moment.
func (r *relocated) cuts(ctx context.Context, random *rand.Rand, span time.Duration, times uint64) uint64 {
	r.t.Helper()
	for range times {
		after := time.NewTimer(time.Duration(random.Float64() * float64(span)))
		select {
		case <-ctx.Done():
			r.t.Fatal("out of time")
		case <-after.C:
		}
		r.t.Logf("cut: %s", lastStep(r.t, r.lab))
		cut(ctx, r.t, r.lab)
	}
	return times
}

// lastStep is what a node of nspawn has journaled last, in any of its stateroots: what a cut interrupts. It is read from outside.
func lastStep(t *testing.T, l *lab.Lab) string {
	t.Helper()
	journals, err := filepath.Glob(filepath.Join(l.Dir, "sysroot/ostree/deploy/*/var/lib/lca/journal/*.jsonl"))
	require.NoError(t, err)
	var last struct {
		Time             time.Time
		Flow, Step, Kind string
	}
	for _, file := range journals {
		text, _ := os.ReadFile(file) // a journal may go meanwhile
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		entry := last
		if json.Unmarshal([]byte(lines[len(lines)-1]), &entry) == nil && entry.Time.After(last.Time) {
			last = entry
		}
	}
	return fmt.Sprintf("%s %s %s", last.Flow, last.Step, last.Kind)
}

// settles waits until the node is at home, or waits in its factory state after it went back, and says which.
func (r *relocated) settles(ctx context.Context) (end string) {
	r.t.Helper()
	r.reports(ctx, "a node that is at home or back", func(s relocationStatus) bool {
		end = s.Result
		return s.Result == "at-home" || s.Result == "rolled-back" && r.stateroot(ctx) == "rhcos" && r.waits(ctx)
	})
	return end
}

// returns rolls the node back, sometimes with a cut on the way: a request for the factory state is not forgotten.
func (r *relocated) returns(ctx context.Context, random *rand.Rand) (cuts uint64) {
	r.t.Helper()
	in(ctx, r.t, r.lab, "systemd-run", "--quiet", "--unit=scenario-rollback", "lca-cli", "relocation", "rollback")
	until(ctx, r.t, "the rollback's begin", func() bool {
		return r.stateroot(ctx) == "rhcos" || says(ctx, r.lab, "grep -qs relocation-rollback /var/lib/lca/journal/*.jsonl")
	})
	cuts = r.cuts(ctx, random, returnTakes, random.Uint64N(2))
	r.reports(ctx, "the factory state", func(relocationStatus) bool { return r.stateroot(ctx) == "rhcos" && r.waits(ctx) })
	return cuts
}
