package ipconfig

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// quick is how soon a running controller must have noticed something; the periodic look
// comes later than that.
const quick = 15 * time.Second

func TestRunningControllerCreatesTheObjectAndFollowsTheNode(t *testing.T) {
	w := newWorld(t)
	srv := shared.Server(t)
	mgr, err := ctrl.NewManager(srv.Config, ctrl.Options{Scheme: srv.Scheme, Metrics: server.Options{BindAddress: "0"}})
	require.NoError(t, err)
	w.r.Client, w.r.Reader, w.r.Now = mgr.GetClient(), mgr.GetAPIReader(), time.Now
	require.NoError(t, w.r.SetupWithManager(mgr))
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })

	require.Eventually(t, func() bool {
		ipc, err := w.find()
		return err == nil && stageOf(ipc.Status.Conditions) == lcav1.StageIdle && len(ipc.Status.ValidNextStages) == 1 &&
			ipc.Status.ValidNextStages[0] == lcav1.StageConfig
	}, quick, wait)
	w.address("sno", "192.0.2.99")
	require.Eventually(t, func() bool { return w.get().Status.IPv4.Address == "192.0.2.99" }, quick, wait, "a new node address is seen at once")
	require.NoError(t, w.api.Delete(t.Context(), w.get()))
	require.Eventually(t, func() bool { _, err := w.find(); return err == nil }, quick, wait, "the singleton comes back")
}

// TestManifestsAreAcceptedAndTheRoleSuffices applies config/ to a real API server, and lets the operator
// work with nothing but the rights it gives itself there.
func TestManifestsAreAcceptedAndTheRoleSuffices(t *testing.T) {
	w := newWorld(t)
	w.deploy()
	w.restartAs(shared.Server(t), operator())
	w.rest()
	w.change(func(ipc *lcav1.IPConfig) {
		toNewAddress(ipc)
		ipc.Annotations = map[string]string{lcav1.TriggerReconcileAnnotation: "now"}
	})
	require.Equal(t, 1, w.node.launched(host.UnitPrePivot), "%v", w.get().Status.Conditions)
	require.Contains(t, w.events, "Normal IdleIdle: Idle")
	err := w.r.Client.Delete(t.Context(), w.get())
	require.True(t, apierrors.IsForbidden(err), "what it does not need it may not do: %v", err)
	err = w.r.Reader.Get(t.Context(), client.ObjectKey{Namespace: "kube-system", Name: "other"}, &corev1.ConfigMap{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
}

// deploy makes what config/ has, except the CRDs.
func (w *world) deploy() {
	w.t.Helper()
	root := filepath.Join("..", "..", "..", "config")
	for _, file := range []string{
		"manager/namespace.yaml", "rbac/service_account.yaml", "rbac/role.yaml", "rbac/bindings.yaml", "rbac/scc.yaml", "manager/deployment.yaml",
	} {
		w.apply(filepath.Join(root, file))
	}
}

// operator is who the deployed operator is to the API server.
func operator() rest.ImpersonationConfig {
	return rest.ImpersonationConfig{UserName: "system:serviceaccount:openshift-lifecycle-agent:lifecycle-agent",
		Groups: []string{"system:serviceaccounts", "system:authenticated"}}
}

// apply creates every object in the file; what is there already may stay.
func (w *world) apply(file string) {
	w.t.Helper()
	f, err := os.Open(file)
	require.NoError(w.t, err)
	defer func() { _ = f.Close() }()
	for docs := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		o := &unstructured.Unstructured{}
		if docs.Decode(&o.Object) != nil {
			return
		}
		strict := &client.CreateOptions{Raw: &metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}}
		if err := w.api.Create(w.t.Context(), o, strict); !apierrors.IsAlreadyExists(err) {
			require.NoError(w.t, err, "%s %s", o.GetKind(), o.GetName())
		}
	}
}

// BenchmarkReconcileAtRest measures what an idle cluster pays every 30 seconds.
func BenchmarkReconcileAtRest(b *testing.B) {
	w := newWorld(b)
	w.rest()
	before := w.writes
	for b.Loop() {
		w.reconcile()
	}
	require.Equal(b, before, w.writes)
}
