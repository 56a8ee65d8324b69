package netpolicy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// TestAPoolPolicyWaitsForTheMachineConfig: a node starts when its machine-config daemon says that it has a rendered MachineConfig with
// the document, and its enactment then tells the states of the daemon.
func TestAPoolPolicyWaitsForTheMachineConfig(t *testing.T) {
	w := newWorld(t, 2)
	pool := &mcv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: w.name, Labels: map[string]string{"pool": w.name}}}
	pool.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"world": w.name}}
	require.NoError(t, w.api.Create(t.Context(), pool))
	t.Cleanup(func() { _ = w.api.Delete(context.Background(), pool) })
	p := w.policy("p", "machineConfigPoolSelector: {matchLabels: {pool: "+w.name+"}}\nmaxUnavailable: 2\n"+document)
	w.reaches(p, "Progressing", "Policy is progressing 0/2 nodes finished, 2 pending")
	require.Equal(t, map[condition.State]int{condition.Pending: 2}, w.states(p))

	mc, err := machineconfig.Document(w.name, p.Name, p.Spec.DesiredState.Raw)
	require.NoError(t, err)
	mc.Name = "rendered-" + w.name
	require.NoError(t, w.api.Create(t.Context(), mc))
	t.Cleanup(func() { _ = w.api.Delete(context.Background(), mc) })
	w.hasConfig(w.node(0), "rendered-"+w.name)
	w.reaches(p, "Progressing", "Policy is progressing 1/2 nodes finished, 1 pending")
	w.eventually(func() bool {
		a := w.enactment(w.node(0), p).Annotations
		return a[v1beta1.NetworkStateAnnotation] == stateDone && a[v1beta1.CurrentNetworkAnnotation] == a[v1beta1.DesiredNetworkAnnotation]
	}, func() string { return asYAML(w.enactment(w.node(0), p).Annotations) })

	w.agents.fails(func(string, string) condition.State { return condition.Failed })
	w.hasConfig(w.node(1), "rendered-"+w.name)
	w.reaches(p, "Degraded", "1/2 nodes failed to configure")
	w.eventually(func() bool {
		return w.enactment(w.node(1), p).Annotations[v1beta1.NetworkStateAnnotation] == stateUnreconcilable
	},
		func() string { return asYAML(w.enactment(w.node(1), p).Annotations) })
}

func (w *world) hasConfig(node, rendered string) {
	w.nodePatch(node, `{"metadata":{"annotations":{"`+currentConfigAnnotation+`":"`+rendered+`"}}}`)
}

// TestAddressesAreClaimedForEachNode: the node starts when its claim is served, with the address in its enactment.
func TestAddressesAreClaimedForEachNode(t *testing.T) {
	w := newWorld(t, 2)
	p := w.policy("p", "maxUnavailable: 2\ntemplateValues: [{name: storage, address: {namespace: default, pool: storage}}]\n"+document)
	claims := &metal3.IPClaimList{}
	w.eventually(func() bool {
		require.NoError(t, w.api.List(t.Context(), claims, client.MatchingLabels{"nmstate.io/policy": p.Name}))
		return len(claims.Items) == 2
	}, func() string { return asYAML(claims) })
	require.Equal(t, map[condition.State]int{condition.Pending: 2}, w.states(p))
	gateway := metal3.IPAddressStr("192.0.2.1")
	for i := range claims.Items {
		c := &claims.Items[i]
		require.Equal(t, "storage", c.Spec.Pool.Name)
		require.Equal(t, "NodeNetworkConfigurationEnactment", c.OwnerReferences[0].Kind)
		a := &metal3.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: c.Name}}
		a.Spec.Address, a.Spec.Prefix, a.Spec.Gateway = metal3.IPAddressStr([]string{"192.0.2.10", "192.0.2.11"}[i]), 24, &gateway
		a.Spec.Claim, a.Spec.Pool = metal3.ObjectReference{Name: c.Name}, c.Spec.Pool
		require.NoError(t, w.api.Create(t.Context(), a))
		c.Status.Address = &metal3.ObjectReference{Name: a.Name}
		require.NoError(t, w.api.Status().Update(t.Context(), c))
		t.Cleanup(func() { _ = w.api.Delete(context.Background(), a); _ = w.api.Delete(context.Background(), c) })
	}
	w.reaches(p, "Available", "2/2 nodes successfully configured")
	e := w.enactment(claims.Items[0].OwnerReferences[0].Name[:len(w.node(0))], p)
	require.JSONEq(t, `{"storage":"192.0.2.10","storage-prefix":"24","storage-gateway":"192.0.2.1"}`, e.Annotations[v1beta1.ValuesAnnotation])
}

// poolOf makes a pool of one node, which has the rendered MachineConfig.
func (w *world) poolOf(node, role string, mc *mcv1.MachineConfig) {
	w.t.Helper()
	pool := &mcv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + role, Labels: map[string]string{"pool": w.name}}}
	pool.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/hostname": node}}
	require.NoError(w.t, w.api.Create(w.t.Context(), pool))
	mc.Name = "rendered-" + w.name + "-" + role
	require.NoError(w.t, w.api.Create(w.t.Context(), mc))
	w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), pool); _ = w.api.Delete(context.Background(), mc) })
	w.hasConfig(node, mc.Name)
}

// TestAnUnreadableMachineConfigDegradesItsOwnPool: the other pools of the policy, and other policies, go on. It is reported once.
func TestAnUnreadableMachineConfigDegradesItsOwnPool(t *testing.T) {
	w := newWorld(t, 2)
	p := w.policy("p", "machineConfigPoolSelector: {matchLabels: {pool: "+w.name+"}}\nmaxUnavailable: 2\n"+document)
	good, err := machineconfig.Document(w.name, p.Name, p.Spec.DesiredState.Raw)
	require.NoError(t, err)
	bad := good.DeepCopy()
	bad.Spec.Config.Raw = []byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"` + machineconfig.Path(p.Name) +
		`","contents":{"source":"not a data URL"}}]}}`)
	w.poolOf(w.node(0), "bad", bad)
	w.poolOf(w.node(1), "good", good)
	w.reaches(p, "Progressing", "Policy is progressing 1/2 nodes finished, 1 pending")
	w.eventually(func() bool {
		a := w.enactment(w.node(0), p).Annotations
		return a[v1beta1.NetworkStateAnnotation] == stateDegraded
	}, func() string { return asYAML(w.enactment(w.node(0), p).Annotations) })
	require.Contains(t, w.enactment(w.node(0), p).Annotations[v1beta1.NetworkReasonAnnotation], "rendered-"+w.name+"-bad cannot be read")
	require.Equal(t, stateDone, w.enactment(w.node(1), p).Annotations[v1beta1.NetworkStateAnnotation])

	reported := func() (n int) {
		for _, said := range w.events.of(p) {
			if strings.Contains(said, "MachineConfigUnreadable") {
				n++
			}
		}
		return n
	}
	w.eventually(func() bool { return reported() == 1 }, func() string { return asYAML(w.events.of(p)) })
	for range 3 { // each reconciles the policy
		_, err := w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
		require.NoError(t, err)
	}
	w.r.mu.Lock()
	delete(w.r.reported, w.get(p).UID) // as after a restart
	w.r.mu.Unlock()
	_, err = w.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(p)})
	require.NoError(t, err)
	require.Equal(t, 1, reported(), "one event for one cause")
}

// TestWhatIsGoneIsForgotten: nothing is remembered of policies, enactments and nodes that are gone.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t, 1)
	p := w.policy("p", "machineConfigPoolSelector: {matchLabels: {pool: "+w.name+"}}\n"+document)
	mc, err := machineconfig.Document(w.name, p.Name, p.Spec.DesiredState.Raw)
	require.NoError(t, err)
	w.poolOf(w.node(0), "only", mc)
	w.reaches(p, "Available", "1/1 nodes successfully configured")
	remembered := func() (n int) {
		w.r.mu.Lock()
		defer w.r.mu.Unlock()
		w.r.deliveries.mu.Lock()
		defer w.r.deliveries.mu.Unlock()
		for k := range w.r.deliveries.known {
			if k.policy == p.UID {
				n++
			}
		}
		for _, has := range []bool{w.r.reported[p.UID] != report{}, w.r.documents[p.UID].generation != 0} {
			if has {
				n++
			}
		}
		return n
	}
	require.Equal(t, 3, remembered())
	require.NoError(t, w.api.Delete(t.Context(), w.get(p)))
	w.eventually(func() bool { return remembered() == 0 }, func() string { return fmt.Sprint(remembered(), " memories of a policy that is gone") })
}
