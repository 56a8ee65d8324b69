package ipconfig

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
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
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// quick is how soon a running controller must have reacted; the periodic reconciliation
// comes later than that.
const quick = 15 * time.Second

func TestRunningControllerCreatesTheObjectAndFollowsTheNode(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.untilIdle()
	w.address("sno", "192.0.2.99")
	require.Eventually(t, func() bool { return w.get().Status.IPv4.Address == "192.0.2.99" }, quick, wait, "a new node address is observed at once")
	require.NoError(t, w.api.Delete(t.Context(), w.get()))
	require.Eventually(t, func() bool { _, err := w.find(); return err == nil }, quick, wait, "the singleton comes back")
}

// run runs the controller in a manager, and counts its reconciliations.
func (w *world) run() (reconciled *atomic.Int64) {
	w.t.Helper()
	srv, again := shared.Server(w.t), true
	mgr, err := ctrl.NewManager(srv.Config, ctrl.Options{Scheme: srv.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &again}})
	require.NoError(w.t, err)
	counter := &countingReader{Reader: mgr.GetAPIReader()}
	w.r.Client, w.r.Reader, w.r.Now = mgr.GetClient(), counter, time.Now
	require.NoError(w.t, w.r.SetupWithManager(mgr))
	ctx, stop := context.WithCancel(w.t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	w.t.Cleanup(func() { stop(); done.Wait() })
	return &counter.objects
}

// countingReader counts how often the object is read, which each reconciliation does once.
type countingReader struct {
	client.Reader
	objects atomic.Int64
}

func (c *countingReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*lcav1.IPConfig); ok {
		c.objects.Add(1)
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

// switchedLock is a node's lock that another operation holds while the switch is on.
type switchedLock struct{ held atomic.Bool }

func (l *switchedLock) Holder(context.Context) (host.Holder, bool, error) {
	return host.Holder{Operation: "seed image", Program: "lca-cli seed create", PID: 77}, l.held.Load(), nil
}

func (w *world) untilIdle() {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		ipc, err := w.find()
		return err == nil && slices.Equal(ipc.Status.ValidNextStages, stages{lcav1.StageConfig})
	}, quick, wait)
}

// TestARunningControllerRests counts reconciliations where nothing happens: at rest, after the object was deleted, while a
// request is refused, and while one is blocked.
func TestARunningControllerRests(t *testing.T) {
	w, lock := newWorld(t), &switchedLock{}
	w.r.Node.Lock = lock
	reconciled := w.run()
	rests := func(where string) {
		w.t.Helper()
		last := int64(-1) // what was begun may end first
		require.Eventually(t, func() bool {
			before := last
			last = reconciled.Load()
			return before == last
		}, quick, time.Second, where)
		require.Never(t, func() bool { return reconciled.Load() > last+1 }, 1500*time.Millisecond, wait, "%s: a hot loop", where)
	}
	ask := func(stage lcav1.IPConfigStage, network string) {
		require.Eventually(t, func() bool {
			ipc := w.get()
			ipc.Spec.Stage = stage
			ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: network + "10", MachineNetwork: network + "0/24", Gateway: network + "1"}
			return w.api.Update(t.Context(), ipc) == nil
		}, quick, wait)
	}
	w.untilIdle()
	rests("idle")
	require.NoError(t, w.api.Delete(t.Context(), w.get()))
	require.Eventually(t, func() bool { _, err := w.find(); return err == nil }, quick, wait)
	w.untilIdle()
	rests("after the object was deleted")
	const podNetwork = "10.128.3."
	ask(lcav1.StageConfig, podNetwork)
	require.Eventually(t, func() bool { return condition(w.get(), lcav1.ConditionConfigCompleted) != nil }, quick, wait)
	rests("refused")
	ask(lcav1.StageIdle, podNetwork)
	w.untilIdle()
	lock.held.Store(true)
	ask(lcav1.StageConfig, "198.51.100.")
	require.Eventually(t, func() bool {
		c := condition(w.get(), lcav1.ConditionConfigInProgress)
		return c != nil && c.Reason == lcav1.ReasonBlocked
	}, quick, wait)
	rests("blocked")
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
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot), "%v", w.get().Status.Conditions)
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
		"manager/namespace.yaml", "rbac/node/service_account.yaml", "rbac/node/role.yaml", "rbac/node/bindings.yaml", "rbac/node/scc.yaml",
		"node/daemonset.yaml",
	} {
		w.apply(filepath.Join(root, file))
	}
}

// operator is who the deployed node role is to the API server.
func operator() rest.ImpersonationConfig {
	return rest.ImpersonationConfig{UserName: "system:serviceaccount:openshift-lifecycle-agent:lifecycle-agent-node",
		Groups: []string{"system:serviceaccounts", "system:authenticated"}}
}

// apply creates every object in the file; existing ones may stay.
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
