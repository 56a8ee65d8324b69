package seedgen

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

// TestWhatIsRefusedChangesNothing: neither the hub nor the node.
func TestWhatIsRefusedChangesNothing(t *testing.T) {
	shared.Server(t)
	for name, c := range map[string]struct {
		prepare func(*world)
		says    string
	}{
		"no secret":  {func(*world) {}, "Secret seedgen does not exist"},
		"klusterlet": {func(w *world) { w.credentials(false); w.manage(nil) }, "Cluster must be detached from hub prior to seed generation"},
		"owned by Argo CD": {func(w *world) {
			w.credentials(true)
			w.manage(func(mc *clusterv1.ManagedCluster) { mc.Labels["app.kubernetes.io/instance"] = "clusters" })
		}, "belongs to Argo CD or Helm (label app.kubernetes.io/instance=clusters), which would create it again"},
		"owned by a SiteConfig": {func(w *world) {
			w.credentials(true)
			w.manage(func(mc *clusterv1.ManagedCluster) {
				mc.Annotations = map[string]string{"ran.openshift.io/ztp-gitops-generated": "{}"}
			})
		}, "a SiteConfig (ZTP GitOps) (annotation ran.openshift.io/ztp-gitops-generated)"},
		"owned by a ClusterInstance": {func(w *world) {
			w.credentials(true)
			w.manage(func(mc *clusterv1.ManagedCluster) {
				mc.Labels["siteconfig.open-cluster-management.io/owned-by"] = "sno_sno"
			})
		}, "a ClusterInstance (SiteConfig operator)"},
		"another cluster of that name": {func(w *world) {
			w.credentials(true)
			w.manage(func(mc *clusterv1.ManagedCluster) { mc.Labels["clusterID"] = "another" })
		}, "is another cluster: its id is another"},
		"an IP change": {func(w *world) {
			w.credentials(false)
			ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}, Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}
			w.put(ipc)
			ipc.Status.Conditions = []metav1.Condition{{Type: "Idle", Status: "False", Reason: lcav1.ReasonConfigurationInProgress,
				LastTransitionTime: metav1.Now()}}
			require.NoError(w.t, w.api.Status().Update(w.t.Context(), ipc))
		}, "another operation is under way: IPConfig ipconfig is not Idle"},
		"a kubeconfig that runs programs": {func(w *world) {
			w.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: lcav1.SeedSecretName}, Data: map[string][]byte{
				lcav1.SeedSecretAuthKey: []byte(auth), lcav1.SeedSecretHubKey: []byte(`{"clusters":[{"name":"c","cluster":{"server":"https://h"}}],
"users":[{"name":"u","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"/bin/sh"}}}]}`)}})
		}, "it runs a program to authenticate"},
		"a signing key that is missing": {func(w *world) { w.credentials(false) }, "Secret seedgen-signing of spec.signingSecret does not exist"},
		"a signing key of another name": {func(w *world) { w.credentials(false) },
			"the agent may not read Secret absent: name it seedgen-signing, or grant 'get' on it to service account lifecycle-agent-seed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.prepare(w)
			sg := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName}, Spec: lcav1.SeedGeneratorSpec{SeedImage: image}}
			switch name {
			case "a signing key that is missing":
				sg.Spec.SigningSecret = lcav1.SeedSigningSecretName
			case "a signing key of another name":
				sg.Spec.SigningSecret = "absent"
			}
			require.NoError(t, w.api.Create(t.Context(), sg))
			requireFailed(t, w.until(lcav1.SeedFailed), c.says)
			require.Nil(t, w.record())
			require.Empty(t, w.node.launches)
			if w.hub != nil {
				require.Nil(t, w.mc().DeletionTimestamp)
			}
		})
	}
}

// TestAHubThatIsSilentIsWaitedFor for 15 minutes, before anything is changed.
func TestAHubThatIsSilentIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.credentials(true)
	w.manage(nil)
	w.away = true
	w.ask()
	for range 5 {
		require.NoError(t, w.pass())
	}
	require.Contains(t, condition(w.get(), lcav1.ConditionSeedGenInProgress).Message, "Waiting for the hub: the hub does not answer")
	requireFailed(t, w.until(lcav1.SeedFailed), "the hub does not answer: get managedcluster sno on the hub: dial tcp")
	require.Nil(t, w.record())
	w.away = false
	w.annotate(lcav1.TriggerReconcileAnnotation)
	w.imaging()
}

// TestTheHubGoesAwayWhileItDetaches: before the deletion, and after it.
func TestTheHubGoesAwayWhileItDetaches(t *testing.T) {
	w := newWorld(t)
	w.credentials(true)
	w.manage(nil)
	w.ask()
	w.until(lcav1.SeedDetaching)
	w.away = true
	sg := w.until(lcav1.SeedRestoring)
	require.Contains(t, condition(sg, lcav1.ConditionSeedGenInProgress).Message, "Finalizing")
	w.away = false
	requireFailed(t, w.until(lcav1.SeedFailed), "could not be detached from its hub within 15 minutes: get managedcluster sno")
	require.Nil(t, w.mc().DeletionTimestamp, "nothing was deleted")
	w.rest()

	w.annotate(lcav1.TriggerReconcileAnnotation)
	w.until(lcav1.SeedDetaching)
	for range 5 {
		require.NoError(t, w.pass())
	}
	w.hubLetsGo()
	require.Nil(t, w.mc())
	w.away = true
	w.until(lcav1.SeedRestoring)
	w.away = false
	require.NoError(t, w.pass())
	require.NoError(t, w.pass())
	w.available()
	sg = w.until(lcav1.SeedFailed)
	requireFailed(t, sg, "could not be detached")
	require.Equal(t, "Reattached", condition(sg, lcav1.ConditionHubDetached).Reason)
}

// TestTheHubIsAwayWhenTheClusterIsToBeGivenBack: the agent retries, until the hub is there or a person says to leave it.
func TestTheHubIsAwayWhenTheClusterIsToBeGivenBack(t *testing.T) {
	for _, returns := range []bool{true, false} {
		w := newWorld(t)
		w.credentials(true)
		w.manage(nil)
		w.ask()
		w.imaging()
		w.capture()
		w.away = true
		w.publishes()
		w.until(lcav1.SeedRestoring)
		for range 300 {
			require.NoError(t, w.pass())
		}
		sg := w.get()
		require.Equal(t, lcav1.SeedRestoring, sg.Status.Phase)
		require.Contains(t, condition(sg, lcav1.ConditionSeedGenInProgress).Message, "the hub does not answer, retrying (to leave it to a person, "+
			"annotate seedgenerator seedimage with "+lcav1.ManualCleanupAnnotation)
		if returns {
			w.away = false
			require.NoError(t, w.pass())
			require.NoError(t, w.pass())
			w.available()
			requireCompleted(t, w.until(lcav1.SeedCompleted))
			w.rest()
			w.deleteSeedGenerator()
			w.cleanUp()
			require.NoError(t, w.hub.Delete(t.Context(), w.mc()))
			continue
		}
		w.annotate(lcav1.ManualCleanupAnnotation)
		sg = w.until(lcav1.SeedCompleted)
		requireCompleted(t, sg)
		require.Equal(t, "NotReattached", condition(sg, lcav1.ConditionHubDetached).Reason)
		require.Contains(t, condition(sg, lcav1.ConditionSeedGenCompleted).Message, "warning: ManagedCluster sno was not restored on the hub")
		w.rest()
		require.Empty(t, w.get().Annotations)
	}
}

// TestAClusterThatDoesNotBecomeAvailable is left to a person after half an hour: the image is made.
func TestAClusterThatDoesNotBecomeAvailable(t *testing.T) {
	w := newWorld(t)
	w.credentials(true)
	w.manage(nil)
	w.ask()
	w.imaging()
	w.capture()
	w.publishes()
	w.until(lcav1.SeedRestoring)
	before := w.now
	sg := w.until(lcav1.SeedCompleted)
	require.GreaterOrEqual(t, w.now.Sub(before), 30*time.Minute)
	require.Contains(t, condition(sg, lcav1.ConditionSeedGenCompleted).Message, "not Available (the hub has not reported yet) after 30 minutes: "+
		"import the cluster on the hub by hand")
	require.NotNil(t, w.mc())
}

// TestTheClusterIsImportedAgain while it is detached: before its copy is made that ends the generation, afterwards it does not.
func TestTheClusterIsImportedAgain(t *testing.T) {
	again := func(w *world) {
		mc := &clusterv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: managed, Labels: map[string]string{"by": "gitops"}}}
		w.putIn(w.hub, mc)
	}
	t.Run("before", func(t *testing.T) {
		w := newWorld(t)
		w.credentials(true)
		w.manage(nil)
		w.ask()
		w.imaging()
		stopped := 0
		w.node.stopping = func(string) {
			stopped++
			w.journal(flow.Entry{Kind: flow.KindBegin, Total: 3}, flow.Entry{Kind: flow.KindRolledBack})
		}
		again(w)
		w.until(lcav1.SeedRestoring)
		require.Equal(t, 1, stopped)
		w.available()
		sg := w.until(lcav1.SeedFailed)
		requireFailed(t, sg, "ManagedCluster sno was created again on the hub https://hub.example.com:6443 while the cluster was detached")
		require.Equal(t, "Reimported", condition(sg, lcav1.ConditionHubDetached).Reason)
		require.Equal(t, "gitops", w.mc().Labels["by"], "the agent leaves the other's alone")
		w.rest()
	})
	t.Run("after", func(t *testing.T) {
		w := newWorld(t)
		w.credentials(true)
		w.manage(nil)
		w.ask()
		w.imaging()
		w.capture()
		again(w)
		for range 5 {
			require.NoError(t, w.pass())
		}
		w.publishes()
		w.available()
		requireCompleted(t, w.until(lcav1.SeedCompleted))
		w.rest()
	})
}

// TestTheSeedGeneratorIsDeletedMidRun, in each phase: the generation is cancelled, the cluster given back, the node free.
func TestTheSeedGeneratorIsDeletedMidRun(t *testing.T) {
	for name, reach := range map[string]func(*world){
		"Detaching": func(w *world) { w.until(lcav1.SeedDetaching); w.hubLetsGo() },
		"Preparing": func(w *world) {
			for w.get().Status.Phase != lcav1.SeedPreparing {
				require.NoError(w.t, w.pass())
				w.hubLetsGo()
			}
		},
		"handed over": func(w *world) {
			for w.get().Status.Phase != lcav1.SeedImaging {
				require.NoError(w.t, w.pass())
				w.hubLetsGo()
			}
		},
		"Imaging": func(w *world) {
			w.imaging()
			w.capture()
			w.node.stopping = func(string) { w.undoes("stopped") }
		},
		"published": func(w *world) { w.imaging(); w.capture(); w.publishes() },
		"Restoring": func(w *world) { w.imaging(); w.capture(); w.publishes(); w.until(lcav1.SeedRestoring) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.credentials(true)
			w.manage(nil)
			w.ask()
			reach(w)
			launches := len(w.node.launches)
			w.deleteSeedGenerator()
			w.restart()
			for range 60 {
				require.NoError(t, w.pass())
				w.hubLetsGo()
				if mc := w.mc(); mc != nil && mc.DeletionTimestamp == nil {
					w.available()
				}
			}
			w.rest()
			require.NotNil(t, w.mc(), "the cluster is given back")
			require.Len(t, w.node.launches, launches, "nothing is started for an image that is not wanted")
			require.False(t, w.node.units[seed.UnitCreate].Running())

			w.node.stopping = nil
			w.ask() // and the cluster can be imaged again
			w.imaging()
		})
	}
}

// TestAnImagerThatIsStoppedBeforeItCouldUndo is followed by one that does nothing else.
func TestAnImagerThatIsStoppedBeforeItCouldUndo(t *testing.T) {
	w := newWorld(t)
	w.credentials(false)
	w.ask()
	w.imaging()
	w.capture()
	w.deleteSeedGenerator()
	for range 5 {
		require.NoError(t, w.pass())
	}
	require.Equal(t, []string{seed.UnitCreate, unitAbort}, w.node.launches)
	w.undoes("aborted")
	delete(w.node.units, unitAbort)
	w.rest()
}

// TestASeedGeneratorThatIsCreatedAgainWaits until the generation of the one that was deleted has ended.
func TestASeedGeneratorThatIsCreatedAgainWaits(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	w.credentials(false)
	w.ask()
	w.imaging()
	w.capture()
	first := w.get().Status.OperationID
	w.deleteSeedGenerator()
	w.ask()
	require.NoError(t, w.pass())
	sg := w.get()
	require.Empty(t, sg.Status.Phase)
	require.Contains(t, condition(sg, lcav1.ConditionSeedGenInProgress).Message, "Waiting until generation "+first+" of a deleted SeedGenerator has ended")
	w.undoes("stopped")
	sg = w.imaging()
	require.NotEqual(t, first, sg.Status.OperationID)
}

// TestTheRecordCannotBeRead: nothing is guessed, and a person can free the node.
func TestTheRecordCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.credentials(false)
	w.ask()
	w.imaging()
	w.node.files[record.File] = []byte("{torn")
	require.NoError(t, w.pass())
	sg := w.get()
	require.Equal(t, lcav1.SeedFailed, sg.Status.Phase)
	require.Contains(t, condition(sg, lcav1.ConditionSeedGenCompleted).Message, "read the record of the seed generation: decode "+record.File)
	w.annotate(lcav1.ManualCleanupAnnotation)
	require.NoError(t, w.pass())
	w.rest()
}

// TestTheRecordHoldsTheNode against every other operation, from the first change to the last.
func TestTheRecordHoldsTheNode(t *testing.T) {
	w := newWorld(t)
	w.credentials(true)
	w.manage(nil)
	held := func() bool {
		h, found, err := record.Reservation(w.node).Unfinished(t.Context())
		require.NoError(t, err)
		if found {
			require.Contains(t, h.String(), "seed-create "+w.get().Status.OperationID+" (unfinished: seed generation, ")
		}
		return found
	}
	w.ask()
	require.False(t, held())
	w.until(lcav1.SeedDetaching)
	require.True(t, held())
	w.imaging()
	w.capture()
	w.publishes()
	w.until(lcav1.SeedRestoring)
	require.True(t, held())
	require.NoError(t, w.pass())
	w.available()
	w.until(lcav1.SeedCompleted)
	require.False(t, held())
}
