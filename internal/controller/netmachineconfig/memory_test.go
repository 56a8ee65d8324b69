package netmachineconfig

import (
	"log/slog"
	"testing"
	"time"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

// The pools that a policy selects have its MachineConfig, and have none when the policy has gone.
func TestASelectedPoolHasTheMachineConfig(t *testing.T) {
	api := shared.Memory(t).Client
	r := &Reconciler{Options{Client: api, Reader: api, Events: events.NewFakeRecorder(100), Log: slog.New(slog.DiscardHandler), Now: time.Now}}
	for _, pool := range []string{"worker", "master"} {
		makePool(t, api, pool, map[string]string{"pool": pool})
	}
	policy := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "vlan"}}
	policy.Spec.MachineConfigPoolSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "worker"}}
	policy.Spec.DesiredState = &runtime.RawExtension{Raw: []byte(`{"interfaces":[{"name":"eth1"}]}`)}
	require.NoError(t, api.Create(t.Context(), policy))
	names := func() (names []string) {
		t.Helper()
		for range 3 {
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(policy)})
			require.NoError(t, err)
		}
		list := &mcv1.MachineConfigList{}
		require.NoError(t, api.List(t.Context(), list))
		for _, mc := range list.Items {
			names = append(names, mc.Name)
		}
		return names
	}
	require.Equal(t, []string{"99-worker-generated-network-vlan"}, names())
	require.NoError(t, api.Delete(t.Context(), policy))
	require.Empty(t, names())
	require.Error(t, api.Get(t.Context(), client.ObjectKeyFromObject(policy), policy), "the finalizer is taken away")
}
