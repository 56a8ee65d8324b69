package restore_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
)

// All clusters that are restored from one image would else be one to hubs, updates and telemetry.
func TestARestoredClusterHasAnIDOfItsOwn(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	require.Equal(t, []string{"11111111-2222-4333-8444-000000000001"}, w.clusterIDs)
	_, err := w.node.Files().Stat(relocation.ClusterIDFile)
	require.Error(t, err, "nothing of it is left")
}

// identified judges a restored node by its cluster's ID.
type identified struct{ *world }

func (w identified) Judge() (string, error) {
	verdict, err := w.world.Judge()
	if err == nil && (len(w.clusterIDs) == 0 || len(slices.Compact(slices.Clone(w.clusterIDs))) != 1) {
		err = fmt.Errorf("the cluster was given the IDs %v", w.clusterIDs)
	}
	return verdict, err
}

func (w identified) Again() error { return nil }

// An ID that was given to the cluster is in the hands of others: a run that continues gives the same one.
func TestAnInterruptionChangesNoClusterID(t *testing.T) {
	p := (&onsite.Reconfiguration{Request: relocation.Request{OperationID: "x", Factory: "o", Site: "n"}}).Plan()
	p.Steps = slices.DeleteFunc(p.Steps, func(s flow.Step) bool { return s.Name != relocation.StepAccept && s.Name != "apply-cluster-id" })
	require.Len(t, p.Steps, 2)
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			got := flowtest.Matrix(t, []flow.Plan{p}, func(t *testing.T) flowtest.World { return identified{newWorld(t, kill)} })
			require.Equal(t, got.Cells, got.Verdicts["restored"])
		})
	}
}
