package netmachineconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
)

// cluster has pools and policies with names of one test.
type cluster struct {
	t    *testing.T
	api  client.Client
	name string
}

func newCluster(t *testing.T, name string) *cluster { return &cluster{t, start(t), name} }

func (c *cluster) pool(role string, labels ...string) {
	c.t.Helper()
	all := map[string]string{}
	for _, l := range labels {
		all[c.name+"/"+l] = ""
	}
	makePool(c.t, c.api, c.name+"-"+role, all)
}

func (c *cluster) policy(label string) *nmstatev1.NodeNetworkConfigurationPolicy {
	c.t.Helper()
	p := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: c.name}}
	p.Spec.MachineConfigPoolSelector = &metav1.LabelSelector{MatchLabels: map[string]string{c.name + "/" + label: ""}}
	p.Spec.DesiredState = &runtime.RawExtension{Raw: []byte(`{"interfaces":[{"name":"eth1","mtu":9000}]}`)}
	require.NoError(c.t, c.api.Create(c.t.Context(), p))
	c.t.Cleanup(func() { // the operator still runs, and cleans up
		_ = c.api.Delete(context.Background(), p)
		eventually(c.t, func() bool {
			return apierrors.IsNotFound(c.api.Get(context.Background(), client.ObjectKeyFromObject(p), p.DeepCopy()))
		}, "policy "+c.name+" is gone")
	})
	return p
}

func (c *cluster) config(role string) string {
	return machineconfig.Name(c.name+"-"+role, c.name)
}

// configs are the policy's MachineConfigs, by name.
func (c *cluster) configs() map[string]*mcv1.MachineConfig {
	c.t.Helper()
	list := &mcv1.MachineConfigList{}
	require.NoError(c.t, c.api.List(c.t.Context(), list, client.MatchingLabels{nmstatev1.PolicyLabel: c.name}))
	all := map[string]*mcv1.MachineConfig{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all
}

// settles waits until the policy has MachineConfigs for these roles and no others, and says so.
func (c *cluster) settles(p *nmstatev1.NodeNetworkConfigurationPolicy, roles ...string) {
	c.t.Helper()
	var names []string
	for _, role := range roles {
		names = append(names, c.config(role))
	}
	slices.Sort(names)
	eventually(c.t, func() bool {
		have := c.configs()
		for _, name := range names {
			if have[name] == nil {
				return false
			}
		}
		now := c.get(p)
		return len(have) == len(names) && slices.Equal(now.Status.MachineConfigs, names)
	}, fmt.Sprintf("%s has %s", p.Name, names))
}

func (c *cluster) get(p *nmstatev1.NodeNetworkConfigurationPolicy) *nmstatev1.NodeNetworkConfigurationPolicy {
	c.t.Helper()
	now := &nmstatev1.NodeNetworkConfigurationPolicy{}
	require.NoError(c.t, c.api.Get(c.t.Context(), client.ObjectKeyFromObject(p), now))
	return now
}

func accepted(p *nmstatev1.NodeNetworkConfigurationPolicy) *nmstatev1.Condition {
	for i, c := range p.Status.Conditions {
		if c.Type == nmstatev1.PolicyAccepted {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// TestEveryPoolHasAMachineConfigOfItsOwn: its name is made of both names, its role is the pool's, the policy owns it.
func TestEveryPoolHasAMachineConfigOfItsOwn(t *testing.T) {
	c := newCluster(t, "both")
	c.pool("worker", "network")
	c.pool("edge", "network")
	c.pool("master")
	p := c.policy("network")
	c.settles(p, "worker", "edge")
	for role, name := range map[string]string{"worker": "99-both-worker-generated-network-both", "edge": "99-both-edge-generated-network-both"} {
		mc := c.configs()[name]
		require.NotNil(t, mc, name)
		require.Equal(t, "both-"+role, mc.Labels[machineconfig.RoleLabel])
		require.True(t, metav1.IsControlledBy(mc, p))
		has, err := machineconfig.Carries(mc.Spec.Config.Raw, p.Name, p.Spec.DesiredState.Raw)
		require.NoError(t, err)
		require.True(t, has)
	}
	require.Contains(t, c.get(p).Finalizers, Finalizer)
}

// TestAChangedSelectorMovesTheMachineConfig: the one pool gets it, the other loses it.
func TestAChangedSelectorMovesTheMachineConfig(t *testing.T) {
	c := newCluster(t, "moved")
	c.pool("worker", "here")
	c.pool("edge", "there")
	p := c.policy("here")
	c.settles(p, "worker")
	edit(t, c.api, c.get(p), `{"spec":{"machineConfigPoolSelector":{"matchLabels":{"moved/here":null,"moved/there":""}}}}`)
	c.settles(p, "edge")
}

// TestAPoolIsLabelledLater, and loses the label again.
func TestAPoolIsLabelledLater(t *testing.T) {
	c := newCluster(t, "later")
	c.pool("worker", "network")
	c.pool("edge")
	p := c.policy("network")
	c.settles(p, "worker")
	pool := &mcv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: "later-edge"}}
	edit(t, c.api, pool, `{"metadata":{"labels":{"later/network":""}}}`)
	c.settles(p, "worker", "edge")
	edit(t, c.api, pool, `{"metadata":{"labels":{"later/network":null}}}`)
	c.settles(p, "worker")
}

// TestAPolicyForNodesLeavesNothingBehind: without the selector there is no MachineConfig, no finalizer, and nothing in the status.
func TestAPolicyForNodesLeavesNothingBehind(t *testing.T) {
	c := newCluster(t, "nodes")
	c.pool("worker", "network")
	p := c.policy("network")
	c.settles(p, "worker")
	eventually(t, func() bool { return accepted(c.get(p)) != nil }, "accepted")
	edit(t, c.api, c.get(p), `{"spec":{"machineConfigPoolSelector":null}}`)
	eventually(t, func() bool {
		now := c.get(p)
		return len(c.configs()) == 0 && !slices.Contains(now.Finalizers, Finalizer) && accepted(now) == nil && now.Status.MachineConfigs == nil
	}, "nothing is left")
}

// TestTheFinalizerOutlivesTheOperator: a policy that is deleted while no operator runs waits for one, which deletes its MachineConfigs
// before the policy goes.
func TestTheFinalizerOutlivesTheOperator(t *testing.T) {
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	var c *cluster
	var p *nmstatev1.NodeNetworkConfigurationPolicy
	t.Run("an operator", func(t *testing.T) {
		c = newCluster(t, "waits")
		makePool(t, c.api, "waits-worker", map[string]string{"waits/network": ""})
		p = &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "waits"}}
		p.Spec.MachineConfigPoolSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"waits/network": ""}}
		require.NoError(t, c.api.Create(t.Context(), p))
		c.settles(p, "worker")
	})
	c.t = t
	require.NoError(t, c.api.Delete(t.Context(), p))
	require.NotNil(t, c.get(p).DeletionTimestamp)
	require.Len(t, c.configs(), 1)
	start(t)
	eventually(t, func() bool {
		return apierrors.IsNotFound(c.api.Get(t.Context(), client.ObjectKeyFromObject(p), p.DeepCopy()))
	}, "the policy is gone")
	require.Empty(t, c.configs())
}

// TestTheNameOfAnotherMachineConfigIsRefused: it is neither overwritten nor deleted.
func TestTheNameOfAnotherMachineConfigIsRefused(t *testing.T) {
	c := newCluster(t, "taken")
	c.pool("worker", "network")
	other := &mcv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: c.config("worker")}}
	other.Spec.Config.Raw = []byte(`{"ignition":{"version":"3.2.0"}}`)
	require.NoError(t, c.api.Create(t.Context(), other))
	t.Cleanup(func() { _ = c.api.Delete(context.Background(), other) })
	p := c.policy("network")
	eventually(t, func() bool {
		a := accepted(c.get(p))
		return a != nil && a.Status == metav1.ConditionFalse && strings.Contains(a.Message, "exists and is not this policy's")
	}, "refused")
	now := &mcv1.MachineConfig{}
	require.NoError(t, c.api.Get(t.Context(), client.ObjectKeyFromObject(other), now))
	require.JSONEq(t, `{"ignition":{"version":"3.2.0"}}`, string(now.Spec.Config.Raw))
}
