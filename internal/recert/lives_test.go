package recert

import (
	"slices"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
)

// Where validity is extended, only certificates whose authority's key is not in the cluster keep their end.
func TestLivesSayWhatARunRenews(t *testing.T) {
	w := settle(t, clustertest.Generate(keyring(t), 3, clustertest.Before(3), small()), noMove(map[string]any{"extend_expiration": true}))
	writes := w.writes
	lives, plan, err := engine(w).Lives(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	if w.writes != writes || len(plan.Blocked) > 0 {
		t.Fatalf("%d writes, blocked: %v", w.writes-writes, plan.Blocked)
	}
	var lost []string
	for _, l := range lives {
		if !l.Renewed {
			lost = append(lost, l.Subject)
		}
	}
	slices.Sort(lost)
	if len(lives) < 20 || !slices.Contains(lost, "CN=foreign,O=system:masters") || len(lost) > 3 {
		t.Errorf("of %d certificates these are not renewed: %v", len(lives), lost)
	}
	t.Logf("of %d certificates these are not renewed: %v", len(lives), lost)
}
