package seedgen

import (
	"encoding/json"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

// ask creates the SeedGenerator.
func (w *world) ask() *lcav1.SeedGenerator {
	w.t.Helper()
	sg := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName}, Spec: lcav1.SeedGeneratorSpec{SeedImage: image}}
	require.NoError(w.t, w.api.Create(w.t.Context(), sg))
	return sg
}

func (w *world) get() *lcav1.SeedGenerator {
	w.t.Helper()
	sg := &lcav1.SeedGenerator{}
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKey{Name: lcav1.SeedGeneratorName}, sg))
	return sg
}

// annotate does what a person is told to do.
func (w *world) annotate(key string) {
	w.t.Helper()
	sg := w.get()
	sg.Annotations = map[string]string{key: "now"}
	require.NoError(w.t, w.api.Update(w.t.Context(), sg))
}

// pass reconciles once; time goes on as the controller asks.
func (w *world) pass() error {
	result, err := w.r.Reconcile(w.t.Context(), kind.Request())
	w.now = w.now.Add(max(result.RequeueAfter, time.Second))
	return err
}

// until reconciles until the phase is reached.
func (w *world) until(p lcav1.SeedGeneratorPhase) *lcav1.SeedGenerator {
	w.t.Helper()
	for range 200 {
		require.NoError(w.t, w.pass())
		if sg := w.get(); sg.Status.Phase == p {
			return sg
		}
	}
	w.t.Fatalf("phase %s is never reached: %+v", p, w.get().Status)
	return nil
}

// rest reconciles until nothing is left on the node.
func (w *world) rest() {
	w.t.Helper()
	for range 20 {
		require.NoError(w.t, w.pass())
	}
	names, err := w.node.List(seed.Dir)
	require.NoError(w.t, err)
	require.NotContains(w.t, names, "record.json")
	for _, name := range []string{"hub.kubeconfig", "auth.json", "managedcluster.json", "cosign.key"} {
		require.NotContains(w.t, names, name, "no secret is left on the node")
	}
}

func (w *world) record() *record.Record {
	w.t.Helper()
	rec, err := record.Read(w.node)
	require.NoError(w.t, err)
	return rec
}

// journal appends entries as lca-cli does.
func (w *world) journal(entries ...flow.Entry) {
	w.t.Helper()
	request, err := seed.ReadRequest(w.node)
	require.NoError(w.t, err)
	boot := string(w.node.files[host.BootIDFile])
	for _, e := range entries {
		w.now = w.now.Add(time.Second)
		e.Version, e.Flow, e.Time, e.Boot, e.Operation = flow.SchemaVersion, seed.FlowCreate, w.now, boot[:len(boot)-1], request.OperationID
		line, err := json.Marshal(e)
		require.NoError(w.t, err)
		require.NoError(w.t, w.node.Append(operation.JournalPath(request.OperationID), append(line, '\n'), 0o600))
	}
}

func step(kind flow.Kind, name string, index int) flow.Entry {
	return flow.Entry{Kind: kind, Step: name, Title: "Do " + name, Index: index, Total: 3, TookMS: 1500}
}

// capture plays lca-cli until the copy is made.
func (w *world) capture() {
	w.t.Helper()
	w.journal(flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, seed.StepCapture, 1), step(flow.KindDone, seed.StepCapture, 1))
}

// publishes plays lca-cli from the copy to its end.
func (w *world) publishes() { w.publishesAs(seed.Outcome{}) }

// publishesAs has lca-cli say more of what it published.
func (w *world) publishesAs(o seed.Outcome) {
	w.t.Helper()
	w.journal(step(flow.KindIntent, seed.StepPublish, 2), step(flow.KindDone, seed.StepPublish, 2), flow.Entry{Kind: flow.KindCommitted},
		flow.Entry{Kind: flow.KindFinished})
	request, err := seed.ReadRequest(w.node)
	require.NoError(w.t, err)
	o.OperationID, o.Image, o.Digest, o.Size = request.OperationID, request.SeedImage, "sha256:11", 300
	o.Layers = []seed.Layer{{Content: "var.tgz", Digest: "sha256:22", Size: 200}, {Content: "ostree.tgz", Digest: "sha256:33", Size: 100, Reused: true}}
	data, err := json.Marshal(o)
	require.NoError(w.t, err)
	w.node.files[seed.OutcomeFile] = data
	delete(w.node.units, seed.UnitCreate)
}

// undoes plays lca-cli that undoes what it began.
func (w *world) undoes(why string) {
	w.t.Helper()
	failed := step(flow.KindFailed, seed.StepPublish, 2)
	failed.Error = why
	w.journal(step(flow.KindIntent, seed.StepPublish, 2), failed, flow.Entry{Kind: flow.KindRolledBack})
	delete(w.node.units, seed.UnitCreate)
}

func condition(sg *lcav1.SeedGenerator, kind string) *metav1.Condition {
	return meta.FindStatusCondition(sg.Status.Conditions, kind)
}

// cleanUpVersion removes ClusterVersion.
func (w *world) cleanUpVersion() {
	w.t.Helper()
	v := &configv1.ClusterVersion{ObjectMeta: metav1.ObjectMeta{Name: "version"}}
	require.NoError(w.t, client.IgnoreNotFound(w.api.Delete(w.t.Context(), v)))
}
