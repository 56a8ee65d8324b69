//go:build lab

package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
	"github.com/lifecycle-agent/lifecycle-agent/lab/registry"
)

// createTakes and restoreTakes are about how long a seed image and its restore take: cuts fall into all of it.
const (
	createTakes  = 40 * time.Second
	restoreTakes = 60 * time.Second
)

// TestSeedSurvivesPowerCuts cuts the power at random moments while a seed image is made, and while a node is restored from one. The
// seed's cluster is the very same one afterwards; the other node is restored, or runs its old cluster again, untouched.
// LCA_LAB_CUTS says how often in each, LCA_LAB_SEED when.
func TestSeedSurvivesPowerCuts(t *testing.T) {
	tool(t, "systemd-nspawn")
	tool(t, registry.Program)
	long(t)
	_, source, _ := node(t, "scenario-seed-cuts")
	ctx, cancel := context.WithTimeout(context.Background(), 2*cutsTake)
	t.Cleanup(cancel)
	want, seed := setting(t, "LCA_LAB_CUTS", 10), setting(t, "LCA_LAB_SEED", 1)
	random := rand.New(rand.NewPCG(seed, seed))
	store, err := registry.NewStore(t.TempDir(), registryName, registryPassword, registryAddress(), network.Home().Gateway.Addr())
	require.NoError(t, err)
	serve(ctx, t, store, source)
	image := published(ctx, t, store, source)
	made := t.Run("create", func(t *testing.T) { (&seedCuts{t, source, store, random, want}).create(ctx) })
	takeDown(t, source)
	if !made {
		return
	}
	t.Run("restore", func(t *testing.T) {
		target := boot(ctx, t, "scenario-target-cuts", nil)
		t.Cleanup(func() { takeDown(t, target) })
		serve(ctx, t, store, target)
		shareContainerStorage(ctx, t, target)
		(&seedCuts{t, target, store, random, want}).restore(ctx, image)
	})
}

// seedCuts cuts the power of a node a number of times.
type seedCuts struct {
	t      *testing.T
	lab    *lab.Lab
	store  *registry.Store
	random *rand.Rand
	want   uint64
}

func (c *seedCuts) create(ctx context.Context) {
	before := identity(ctx, c.t, c.lab)
	ended := map[lcav1.SeedGeneratorPhase]int{}
	for cuts, round := uint64(0), 2; cuts < c.want; round++ {
		c.forget(ctx)
		applySeedGenerator(ctx, c.t, c.store, c.lab, c.store.Image(fmt.Sprintf("edge/seed:%d", round)))
		cuts += (&relocated{t: c.t, lab: c.lab}).cuts(ctx, c.random, createTakes, 1+c.random.Uint64N(3))
		end := c.created(ctx)
		ended[end]++
		until(ctx, c.t, "the seed's API", func() bool { return drive.Look(ctx, c.lab, home).API })
		require.Equal(c.t, before, identity(ctx, c.t, c.lab), "keys and certificates of the cluster are what they were")
		require.Equal(c.t, "rhcos", in(ctx, c.t, c.lab, "ls", "/ostree/deploy"))
		require.False(c.t, says(ctx, c.lab, "ls -A /var/lib/lca/seed | grep -q ."), "nothing is left of the copy")
		c.t.Logf("round %d ended %s; %d cuts", round, end, cuts)
	}
	require.Positive(c.t, ended[lcav1.SeedCompleted], "power cuts alone do not make every generation fail: %v", ended)
}

// forget deletes the SeedGenerator of the round before.
func (c *seedCuts) forget(ctx context.Context) {
	c.t.Helper()
	sg := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName}}
	until(ctx, c.t, "a cluster without a SeedGenerator", func() bool {
		return client.IgnoreNotFound(apiAt(c.t, c.lab, home).Delete(ctx, sg)) == nil
	})
}

// created waits until the generation has ended, and says how.
func (c *seedCuts) created(ctx context.Context) (end lcav1.SeedGeneratorPhase) {
	c.t.Helper()
	said := ""
	until(ctx, c.t, "the generation's end", func() bool {
		if !drive.Look(ctx, c.lab, home).API {
			return false
		}
		sg := &lcav1.SeedGenerator{}
		if apiAt(c.t, c.lab, home).Get(ctx, client.ObjectKey{Name: lcav1.SeedGeneratorName}, sg) != nil {
			return false
		}
		if now := fmt.Sprintf("%s: %s", sg.Status.Phase, messageOf(sg.Status.Conditions)); now != said {
			said = now
			c.t.Log(now)
		}
		end = sg.Status.Phase
		return end == lcav1.SeedCompleted || end == lcav1.SeedFailed
	})
	return end
}

func (c *seedCuts) restore(ctx context.Context, image string) {
	before := identity(ctx, c.t, c.lab)
	ended := map[string]int{}
	for cuts, round := uint64(0), 1; cuts < c.want; round++ {
		handSite(ctx, c.t, c.store, c.lab)
		in(ctx, c.t, c.lab, append([]string{"systemd-run", "--quiet", "--unit=scenario-restore", "--collect", "lca-cli"}, restoring(image)...)...)
		until(ctx, c.t, "the restore's request", func() bool {
			return says(ctx, c.lab, "test -e /var/lib/lca/seed-restore/request.json") ||
				!says(ctx, c.lab, "systemctl is-active --quiet scenario-restore")
		})
		cuts += (&relocated{t: c.t, lab: c.lab}).cuts(ctx, c.random, restoreTakes, 1+c.random.Uint64N(3))
		end := c.settles(ctx)
		ended[end]++
		if end == "restored" {
			provesRestored(ctx, c.t, c.lab)
			leave(ctx, c.t, c.lab, "lca-cli", "seed", "rollback")
		}
		until(ctx, c.t, "the cluster that ran before", func() bool { return drive.Look(ctx, c.lab, home).API })
		require.Equal(c.t, before, identity(ctx, c.t, c.lab), "nothing of it was changed")
		c.t.Logf("round %d ended %s; %d cuts", round, end, cuts)
	}
	require.Positive(c.t, ended["restored"], "power cuts alone do not make every restore fail: %v", ended)
}

// settles waits until the node is restored, or runs its old cluster and nothing of the restore is left.
func (c *seedCuts) settles(ctx context.Context) (end string) {
	c.t.Helper()
	r := &relocated{t: c.t, lab: c.lab}
	r.reports(ctx, "a node that is restored, or as it was", func(s relocationStatus) bool {
		old := r.stateroot(ctx) == "rhcos"
		switch {
		case !old && s.Result == "at-home":
			end = "restored"
		case old && !says(ctx, c.lab, "test -e /var/lib/lca/seed-restore") && drive.Look(ctx, c.lab, home).API:
			end = "given up"
		}
		return end != ""
	})
	return end
}
