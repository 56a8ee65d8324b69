package seedgen

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// TestAnImageOfAClusterWithoutHub goes through a whole generation and looks at what lca-cli was given, and at what is said.
func TestAnImageOfAClusterWithoutHub(t *testing.T) {
	w := newWorld(t)
	w.credentials(false)
	ended := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ended"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	w.put(ended)
	ended.Status.Phase = corev1.PodSucceeded
	require.NoError(t, w.api.Status().Update(t.Context(), ended))
	w.ask()
	sg := w.until(lcav1.SeedImaging)
	require.Nil(t, condition(sg, lcav1.ConditionHubDetached), "no hub is involved")
	require.Equal(t, "Launching imager container", condition(sg, lcav1.ConditionSeedGenInProgress).Message)
	require.Equal(t, &lcav1.StepStatus{Name: "Imaging", Index: 5, Total: 6, Message: "Launching imager container", StartTime: sg.Status.Step.StartTime}, sg.Status.Step)

	request, err := seed.ReadRequest(w.node)
	require.NoError(t, err)
	require.Equal(t, image, request.SeedImage)
	require.Equal(t, seed.ClusterInfo{OCPVersion: "4.20.3", BaseDomain: "example.com", ClusterName: managed, NodeIP: "192.0.2.10",
		NodeIPs: []string{"192.0.2.10"}, ReleaseRegistry: "quay.io", SNOHostname: "sno", ClusterNetworks: []string{"10.128.0.0/14"},
		ServiceNetworks: []string{"172.30.0.0/16"}, MachineNetworks: []string{"192.0.2.0/24"}}, request.Cluster)
	require.Contains(t, request.Drop, seed.Object{Resource: "pods", Namespace: "default", Name: "ended"})
	require.Equal(t, auth, string(w.node.files[seed.AuthFile]))
	require.NoError(t, w.pass())
	require.Equal(t, []string{seed.UnitCreate}, w.node.launches)

	w.capture()
	require.NoError(t, w.pass())
	sg = w.get()
	require.Equal(t, "capture", sg.Status.ImagerStep.Name)
	require.Equal(t, "Generating the seed image: Do capture (1 of 3)", condition(sg, lcav1.ConditionSeedGenInProgress).Message)
	w.health(false)
	w.publishes()
	w.until(lcav1.SeedRestoring)
	for range 3 {
		require.NoError(t, w.pass())
	}
	require.Contains(t, condition(w.get(), lcav1.ConditionSeedGenInProgress).Message, "Finalizing seed generation: Waiting for system to stabilize: ")
	w.health(true)
	sg = w.until(lcav1.SeedCompleted)
	w.rest()
	requireCompleted(t, sg)
	require.Equal(t, &lcav1.SeedImageStatus{PullSpec: "registry.example.com/seeds/sno@sha256:11", Digest: "sha256:11", SizeBytes: 300, ReusedBytes: 100,
		Layers: []lcav1.SeedImageLayer{{Name: "var.tgz", Digest: "sha256:22", SizeBytes: 200}, {Name: "ostree.tgz", Digest: "sha256:33", SizeBytes: 100, Reused: true}}},
		sg.Status.Image)
	require.NoError(t, w.api.Get(t.Context(), client.ObjectKeyFromObject(ended), ended), "the cluster itself is not cleaned")
	said := strings.Join(w.events, "\n")
	for _, e := range []string{"Normal PhaseChecking", "Normal PhaseImaging: Phase Imaging (5 of 6)", "Normal StepCompleted: seed-create: capture",
		"Normal SeedGenCompletedCompleted: Seed Generation completed"} {
		require.Contains(t, said, e)
	}
	require.NotContains(t, said, "cGxhbnRlZC1zZWNyZXQ6cHc=")
}

// TestATagThatCouldNotBeReadIsReported: the image is published, and condition and status say what could not be proved.
func TestATagThatCouldNotBeReadIsReported(t *testing.T) {
	w := newWorld(t)
	w.credentials(false)
	w.ask()
	w.until(lcav1.SeedImaging)
	w.capture()
	w.publishesAs(seed.Outcome{TagUnread: true})
	sg := w.until(lcav1.SeedCompleted)
	w.rest()
	requireCompleted(t, sg)
	require.True(t, sg.Status.Image.TagUnread)
	require.Equal(t, "Seed Generation completed; warning: registry registry.example.com did not let the account read tag 4.20.3 of seeds/sno "+
		"beforehand: whether another image had it is not known", condition(sg, lcav1.ConditionSeedGenCompleted).Message)
}

// requireCompleted checks what every generation that succeeded says.
func requireCompleted(t testing.TB, sg *lcav1.SeedGenerator) {
	t.Helper()
	require.Equal(t, lcav1.SeedCompleted, sg.Status.Phase)
	last := sg.Status.Conditions[len(sg.Status.Conditions)-1]
	require.Equal(t, []string{"SeedGenCompleted", "True", "Completed"}, []string{last.Type, string(last.Status), last.Reason})
	require.Equal(t, metav1.ConditionFalse, condition(sg, lcav1.ConditionSeedGenInProgress).Status)
	require.NotNil(t, sg.Status.StartedAt)
	require.NotNil(t, sg.Status.CompletedAt)
	require.Nil(t, sg.Status.Step)
	require.Nil(t, sg.Status.ImagerStep)
	for _, p := range sg.Status.History {
		require.NotNil(t, p.CompletionTime, p.Phase)
	}
	require.NotEmpty(t, sg.Status.Preflight)
}

// requireFailed checks what every generation that failed says.
func requireFailed(t testing.TB, sg *lcav1.SeedGenerator, why string) {
	t.Helper()
	require.Equal(t, lcav1.SeedFailed, sg.Status.Phase)
	last := sg.Status.Conditions[len(sg.Status.Conditions)-1]
	require.Equal(t, []string{"SeedGenCompleted", "False", "Failed"}, []string{last.Type, string(last.Status), last.Reason})
	require.Contains(t, last.Message, "Seed generation failed: ")
	require.Contains(t, last.Message, why)
	require.Contains(t, last.Message, "to try again, annotate seedgenerator seedimage with "+lcav1.TriggerReconcileAnnotation)
	require.NotNil(t, sg.Status.CompletedAt)
}

// TestTheHubLosesTheClusterAndGetsItBack: detached before anything of it is imaged, restored with labels and spec.
func TestTheHubLosesTheClusterAndGetsItBack(t *testing.T) {
	w := newWorld(t)
	w.credentials(true)
	w.manage(func(mc *clusterv1.ManagedCluster) {
		mc.Finalizers = []string{"cluster.open-cluster-management.io/api-resource-cleanup"}
	})
	before := w.mc()
	w.ask()
	w.until(lcav1.SeedDetaching)
	for range 5 {
		require.NoError(t, w.pass())
	}
	require.NotNil(t, w.mc().DeletionTimestamp)
	sg := w.get()
	require.Contains(t, condition(sg, lcav1.ConditionSeedGenInProgress).Message, "waiting until ManagedCluster sno is gone")
	require.Equal(t, "Detaching", condition(sg, lcav1.ConditionHubDetached).Reason)
	require.Empty(t, w.node.launches, "nothing is imaged before the cluster is detached")
	w.hubLetsGo()

	sg = w.until(lcav1.SeedImaging)
	detached := condition(sg, lcav1.ConditionHubDetached)
	require.Equal(t, []string{"True", "Detached"}, []string{string(detached.Status), detached.Reason})
	require.Equal(t, "SeedGenInProgress", sg.Status.Conditions[len(sg.Status.Conditions)-1].Type, "the column State is about the generation")
	require.Equal(t, &lcav1.SeedHubStatus{Server: "https://hub.example.com:6443", ManagedCluster: managed}, sg.Status.Hub)
	require.NoError(t, w.pass())
	w.capture()
	w.publishes()
	w.until(lcav1.SeedRestoring)
	for range 3 {
		require.NoError(t, w.pass())
	}
	after := w.mc()
	require.NotEqual(t, before.UID, after.UID)
	require.Equal(t, before.Labels, after.Labels)
	require.True(t, after.Spec.HubAcceptsClient)
	require.Contains(t, condition(w.get(), lcav1.ConditionSeedGenInProgress).Message, "waiting until ManagedCluster sno is Available")
	require.Equal(t, "Reattaching", condition(w.get(), lcav1.ConditionHubDetached).Reason)
	w.available()
	sg = w.until(lcav1.SeedCompleted)
	requireCompleted(t, sg)
	w.rest()
	back := condition(sg, lcav1.ConditionHubDetached)
	require.Equal(t, []string{"False", "Reattached"}, []string{string(back.Status), back.Reason})
}

// imaging reconciles until lca-cli is to begin; the hub lets the cluster go.
func (w *world) imaging() *lcav1.SeedGenerator {
	w.t.Helper()
	for range 100 {
		require.NoError(w.t, w.pass())
		if w.hub != nil {
			w.hubLetsGo()
		}
		if sg := w.get(); sg.Status.Phase == lcav1.SeedImaging {
			require.NoError(w.t, w.pass())
			return sg
		}
	}
	w.t.Fatalf("phase Imaging is never reached: %+v", w.get().Status)
	return nil
}

// hubLetsGo removes the finalizers of what is being deleted, as the hub's controllers do.
func (w *world) hubLetsGo() {
	w.t.Helper()
	mc := w.mc()
	if mc == nil || mc.DeletionTimestamp == nil {
		return
	}
	mc.Finalizers = nil
	require.NoError(w.t, w.hub.Update(w.t.Context(), mc))
	require.Nil(w.t, w.mc())
}

// whole plays a whole generation with a hub, with the agent's passes as the test says, and returns its end.
func (w *world) whole(pass func()) *lcav1.SeedGenerator {
	w.t.Helper()
	published := false
	for range 400 {
		pass()
		sg := w.get()
		if sg.Status.Phase == lcav1.SeedCompleted && w.record() == nil {
			return sg
		}
		require.NotEqual(w.t, lcav1.SeedFailed, sg.Status.Phase, "%v", sg.Status.Conditions)
		if w.node.units[seed.UnitCreate].Running() && !published {
			w.capture()
			w.publishes()
			published = true
		}
		switch mc := w.mc(); {
		case mc != nil && mc.DeletionTimestamp != nil:
			w.hubLetsGo()
		case mc != nil:
			w.available()
		}
	}
	w.t.Fatalf("the generation does not end: %+v", w.get().Status)
	return nil
}

// TestTheAgentIsKilledInEveryPhase gives each pass to a new agent.
func TestTheAgentIsKilledInEveryPhase(t *testing.T) {
	w := newWorld(t)
	w.credentials(true)
	w.manage(nil)
	w.ask()
	sg := w.whole(func() {
		require.NoError(t, w.pass())
		w.restart()
	})
	requireCompleted(t, sg)
	require.Len(t, w.node.launches, 1)
	require.Equal(t, "Reattached", condition(sg, lcav1.ConditionHubDetached).Reason)
	var seen []string
	for _, p := range sg.Status.History {
		seen = append(seen, p.Phase)
	}
	require.Equal(t, []string{"Checking", "Detaching", "Preparing", "Imaging", "Restoring"}, seen)
}

// TestTheAgentDiesAtEveryChange lets it die before each single change that it makes, of the API, the hub and the node. A new
// one brings the generation to the same end.
func TestTheAgentDiesAtEveryChange(t *testing.T) {
	deaths := 0
	for budget := 0; ; budget++ {
		w := newWorld(t)
		w.credentials(true)
		w.manage(nil)
		w.ask()
		left, died := budget, false
		w.budget = &left
		sg := w.whole(func() {
			err := w.pass()
			if w.budget != nil && *w.budget == 0 {
				w.budget, died = nil, true
				w.restart()
				return
			}
			require.NoError(t, err)
		})
		requireCompleted(t, sg)
		require.Len(t, w.node.launches, 1, "died at change %d", budget)
		require.NotNil(t, w.mc(), "died at change %d: the cluster is not given back", budget)
		w.deleteSeedGenerator()
		require.NoError(t, w.hub.Delete(t.Context(), w.mc()))
		w.cleanUp()
		if !died {
			break
		}
		deaths++
	}
	t.Logf("died at each of %d changes", deaths)
	require.Greater(t, deaths, 15)
}

// TestAPowerCutWhileImaging: the unit is gone after the boot, the journal is not; lca-cli continues.
func TestAPowerCutWhileImaging(t *testing.T) {
	w := newWorld(t)
	w.credentials(false)
	w.ask()
	w.until(lcav1.SeedImaging)
	require.NoError(t, w.pass())
	w.capture()
	w.node.boot("boot-2")
	w.restart()
	require.NoError(t, w.pass())
	require.Len(t, w.node.launches, 2)
	w.publishes()
	requireCompleted(t, w.until(lcav1.SeedCompleted))
	w.rest()
}

// TestAFailureOfTheImagerGivesTheClusterBackAndCanBeTriedAgain with an annotation, or with another spec.
func TestAFailureOfTheImagerGivesTheClusterBackAndCanBeTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.credentials(true)
	w.manage(nil)
	w.ask()
	w.imaging()
	w.capture()
	w.undoes("registry.example.com: 401 Unauthorized")
	for range 3 {
		require.NoError(t, w.pass())
	}
	require.NotNil(t, w.mc())
	w.available()
	sg := w.until(lcav1.SeedFailed)
	requireFailed(t, sg, "registry.example.com: 401 Unauthorized")
	require.Equal(t, "publish", sg.Status.ImagerStep.Name)
	require.Equal(t, "Reattached", condition(sg, lcav1.ConditionHubDetached).Reason)
	w.rest()
	require.Equal(t, lcav1.SeedFailed, w.get().Status.Phase, "it is not tried again by itself")

	first := sg.Status.OperationID
	w.annotate(lcav1.TriggerReconcileAnnotation)
	sg = w.imaging()
	require.NotEqual(t, first, sg.Status.OperationID)
	require.Empty(t, sg.Annotations)
	w.capture()
	w.undoes("disk full")
	for range 3 {
		require.NoError(t, w.pass())
	}
	w.available()
	w.until(lcav1.SeedFailed)
	w.rest()
	sg = w.get()
	sg.Spec.SeedImage = "registry.example.com/seeds/other:1"
	require.NoError(t, w.api.Update(t.Context(), sg), "the spec may be changed after the end")
	sg = w.imaging()
	require.Equal(t, sg.Generation, sg.Status.ObservedGeneration)
	w.capture()
	w.publishes()
	w.until(lcav1.SeedRestoring)
	require.NoError(t, w.pass())
	w.available()
	requireCompleted(t, w.until(lcav1.SeedCompleted))
}

// TestTheSpecIsLockedWhileAnImageIsMade by the API server itself.
func TestTheSpecIsLockedWhileAnImageIsMade(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	w.credentials(false)
	w.ask()
	sg := w.until(lcav1.SeedImaging)
	sg.Spec.SeedImage = "registry.example.com/other:1"
	require.ErrorContains(t, w.api.Update(t.Context(), sg), "cannot modify spec while a seed image is being generated")
}

// TestASecondSeedGeneratorIsRefused by the API server itself.
func TestASecondSeedGeneratorIsRefused(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	w.ask()
	second := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: "another"}, Spec: lcav1.SeedGeneratorSpec{SeedImage: image}}
	require.ErrorContains(t, w.api.Create(t.Context(), second), "metadata.name must be 'seedimage'")
}

// cleanUp empties the cluster of what furnish made, for a world that is made in the same test.
func (w *world) cleanUp() {
	w.t.Helper()
	for _, o := range []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: lcav1.SeedSecretName}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-config-v1"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "sno"}},
	} {
		require.NoError(w.t, client.IgnoreNotFound(w.api.Delete(w.t.Context(), o)))
	}
	w.cleanUpVersion()
}

// TestANodeThatCannotBeReadIsReportedInStatus: whoever reads the object learns why nothing goes on, and the generation is as it was.
func TestANodeThatCannotBeReadIsReportedInStatus(t *testing.T) {
	w := newWorld(t)
	w.credentials(false)
	w.ask()
	known := w.until(lcav1.SeedChecking)
	boot := w.node.files[host.BootIDFile]
	delete(w.node.files, host.BootIDFile)
	require.ErrorContains(t, w.pass(), "read boot id")
	require.ErrorContains(t, w.pass(), "read boot id")
	sg := w.get()
	observed := condition(sg, lcav1.ConditionNodeObserved)
	require.Equal(t, metav1.ConditionFalse, observed.Status)
	require.Contains(t, observed.Message, "read boot id")
	require.Equal(t, lcav1.ReasonNotObserved, condition(sg, lcav1.ConditionReconciling).Reason)
	ofGeneration := func(s lcav1.SeedGeneratorStatus) lcav1.SeedGeneratorStatus {
		s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool {
			return c.Type == lcav1.ConditionNodeObserved || c.Type == lcav1.ConditionReconciling
		})
		return s
	}
	require.Equal(t, ofGeneration(known.Status), ofGeneration(sg.Status))

	w.node.files[host.BootIDFile] = boot
	require.NoError(t, w.pass())
	c := condition(w.get(), lcav1.ConditionNodeObserved)
	require.Equal(t, []string{string(metav1.ConditionTrue), "Observed"}, []string{string(c.Status), c.Reason})
}
