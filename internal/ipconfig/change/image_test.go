package change_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

const recertImage = "quay.io/edge-infrastructure/recert:v0"

func inContainer(t *testing.T) *world {
	w := newWorld(t)
	w.post.RecertImage = recertImage
	return w
}

func TestRecertInAContainer(t *testing.T) {
	w := inContainer(t)
	w.arrival = func(w *world) {
		w.node.RegistryDown(true)
		require.NoError(t, w.node.Seed(host.RecertContainerLog, []byte("as if the image had written it")))
	}
	w.node.ForgetOps()
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Equal(t, []int{1, 1}, []int{w.node.ImagePulls(), w.node.ImageRuns()})
	ops := w.node.Ops()
	pulled := slices.IndexFunc(ops, func(o hosttest.Op) bool { return strings.Contains(o.Target, "containers/images") })
	made := slices.IndexFunc(ops, func(o hosttest.Op) bool { return strings.HasPrefix(o.Name, "deployments.") })
	stopped := slices.IndexFunc(ops, func(o hosttest.Op) bool { return o.Name == "units.stop" })
	require.Positive(t, pulled)
	require.Less(t, pulled, made, "before anything is made")
	require.Less(t, pulled, stopped, "and before anything stops")
	require.Equal(t, recertImage, bringup.CachedImage(w.node.Files()))
	require.Contains(t, w.progress().Recert, "recert by image "+recertImage+": done")
	_, err := w.node.Files().Stat(host.RecertContainerLog)
	require.ErrorIs(t, err, fs.ErrNotExist, "what the image wrote goes when all went well")
}

func TestTheNativeEngineNeedsNoImage(t *testing.T) {
	w := newWorld(t)
	w.node.RegistryDown(true)
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Zero(t, w.node.ImagePulls()+w.node.ImageRuns())
	require.Empty(t, bringup.CachedImage(w.node.Files()))
	require.Contains(t, w.progress().Recert, "recert by native engine: ")
}

func TestAnImageThatWasThrownAwayIsFetchedAgain(t *testing.T) {
	w := inContainer(t)
	w.wrap = func(p flow.Plan) flow.Plan {
		for i, s := range p.Steps {
			if s.Name == ipconfig.StepQuiesce {
				p.Steps[i].Do = func(ctx context.Context) error {
					if err := w.node.RemoveImages(); err != nil {
						return err
					}
					return s.Do(ctx)
				}
			}
		}
		return p
	}
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	require.Equal(t, 2, w.node.ImagePulls())
}

func TestAnImageThatBreaksOffIsNotRunAgain(t *testing.T) {
	w := inContainer(t)
	w.node.BreakRecert()
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	require.Equal(t, 1, w.node.ImageRuns())
	require.Contains(t, w.progress().Cause, host.ErrHalfDone.Error())
	require.Empty(t, w.progress().Recert)
}

// TestCrashMatrixInAContainer dies at every effect of a change whose recert is an image. Where it dies inside the
// image's work the node goes back, because nobody knows what was done.
func TestCrashMatrixInAContainer(t *testing.T) {
	report := flowtest.Matrix(t, plansOf(t)[:2], func(t *testing.T) flowtest.World { return inContainer(t) })
	t.Logf("crash matrix, recert in a container: %s", report)
	if !testing.Short() { // which meets some of the steps
		require.Positive(t, report.Verdicts["new"])
		require.Positive(t, report.Verdicts["old"])
	}
}

func TestWhatRecertDidIsToldInNumbers(t *testing.T) {
	w := newWorld(t)
	report := `
engine: native
plan:
  certificates: [{subject: CN=secret-name}, {subject: CN=other}]
  changes:
  - {kind: rewrite, where: /kubernetes.io/configmaps/a/b data/x}
  - {kind: certificate, where: /kubernetes.io/configmaps/a/b data/y}
  - {kind: member, where: etcd member sno}
  - {kind: rewrite, where: /etc/kubernetes/manifests/etcd-pod.yaml}
  - {kind: delete, where: /kubernetes.io/leases/a/b}
  leftovers: [{where: x, why: y}]
`
	w.recert = reporting{w, report}
	require.NoError(t, w.Live(nil))
	require.Equal(t, "recert by native engine: certificates re-issued 2, objects changed 2, files changed 1, "+
		"objects left for the cluster to create again 1, other mentions of the old address 1; report in /var/tmp/recert-summary.yaml", w.progress().Recert)
}

// reporting leaves a report.
type reporting struct {
	w      *world
	report string
}

func (r reporting) Run(ctx context.Context, config string) error {
	if err := r.w.node.FakeRecert().Run(ctx, config); err != nil {
		return err
	}
	return r.w.node.Files().Write(host.RecertSummary, []byte(r.report), 0o600)
}

func TestTheReportOfAnEarlierChangeIsNotTakenForThisOne(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.node.Seed(host.RecertSummary, []byte("plan: {certificates: [{}]}\n")))
	require.NoError(t, w.Live(nil))
	require.Equal(t, "recert by native engine: done, without a report", w.progress().Recert)
}
