package controller

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netpolicy"
)

// poolDefinition is as much of the kind MachineConfigPool as is read.
const poolDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"machineconfigpools.machineconfiguration.openshift.io"},
"spec":{"group":"machineconfiguration.openshift.io","scope":"Cluster",
"names":{"plural":"machineconfigpools","singular":"machineconfigpool","kind":"MachineConfigPool"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// policies is an operator that rolls policies out on a cluster with one node.
type policies struct {
	t   *testing.T
	api client.Client
}

func newPolicies(t *testing.T, node string) *policies {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	s := bare.Server(t)
	for _, kind := range []string{"policies", "enactments"} {
		s.Apply(t, "config/components/nmstate/nmstate.io_nodenetworkconfiguration"+kind+".yaml")
	}
	s.Apply(t, "config/components/nmstate/nmstate.io_nodenetworkstates.yaml")
	p := &policies{t: t, api: s.Client}
	p.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"later": node}}})
	p.create(&v1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: node}})
	return p
}

// start runs the operator until the test ends.
func (p *policies) start() {
	p.t.Helper()
	t, s := p.t, bare.Server(p.t)
	yes := true
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{Scheme: s.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &yes}})
	require.NoError(t, err)
	require.NoError(t, serveNetworkPolicies(mgr, Options{Log: slog.New(slog.DiscardHandler)}, unregistered(t)))
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() { stop(); done.Wait() })
}

func (p *policies) within(holds func() bool, what string) {
	p.t.Helper()
	require.Eventually(p.t, holds, deadline, tick, what)
}

// create retries: a definition is served a moment after it was installed.
func (p *policies) create(o client.Object) {
	p.t.Helper()
	var err error
	p.within(func() bool { err = p.api.Create(context.Background(), o); return err == nil }, fmt.Sprintf("%T is created", o))
	p.t.Cleanup(func() { _ = p.api.Delete(context.Background(), o) })
}

func (p *policies) policy(name string, spec nmstatev1.NodeNetworkConfigurationPolicySpec) *nmstatev1.NodeNetworkConfigurationPolicy {
	spec.DesiredState = &runtime.RawExtension{Raw: []byte(`{"interfaces":[{"name":"eth1","mtu":1400}]}`)}
	policy := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	p.create(policy)
	return policy
}

// addressDefinitions are the kinds of address pools.
var addressDefinitions = map[string]string{"ippools": "IPPool", "ipclaims": "IPClaim", "ipaddresses": "IPAddress"}

// withoutAddresses takes the kinds of addresses away, which another test may have installed, with all objects of them.
func (p *policies) withoutAddresses() {
	p.t.Helper()
	for plural, kind := range addressDefinitions {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		crd.SetName(plural + ".ipam.metal3.io")
		p.within(func() bool {
			p.unhold(kind)
			return apierrors.IsNotFound(p.api.Delete(context.Background(), crd))
		}, kind+" is removed")
	}
}

// unhold takes the finalizers of objects that no controller serves any longer.
func (p *policies) unhold(kind string) {
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(metal3.GroupVersion.WithKind(kind + "List"))
	if p.api.List(context.Background(), all) != nil {
		return // it is gone
	}
	for i := range all.Items {
		_ = p.api.Patch(context.Background(), &all.Items[i],
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))) // tried again
	}
}

// TestPoolsThatAreServedLater: the machine config operator is installed while the operator runs.
func TestPoolsThatAreServedLater(t *testing.T) {
	p := newPolicies(t, "pooled")
	p.start()
	policy := p.policy("pooled", nmstatev1.NodeNetworkConfigurationPolicySpec{
		MachineConfigPoolSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "later"}}})
	nodes := func() int {
		if err := p.api.Get(t.Context(), client.ObjectKeyFromObject(policy), policy); err != nil || policy.Status.Rollout == nil {
			return -1
		}
		return policy.Status.Rollout.Nodes
	}
	p.within(func() bool { return nodes() == 0 }, "the policy is for no node")
	definition := &unstructured.Unstructured{}
	require.NoError(t, definition.UnmarshalJSON([]byte(poolDefinition)))
	p.create(definition)
	pool := &mcv1.MachineConfigPool{ObjectMeta: metav1.ObjectMeta{Name: "later", Labels: map[string]string{"pool": "later"}}}
	pool.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"later": "pooled"}}
	p.create(pool)
	p.within(func() bool { return nodes() == 1 }, "the policy is for the node of the pool")
}

// TestClaimsThatAreServedLater: a policy waits for an address, and the kinds of addresses are installed while the operator runs.
func TestClaimsThatAreServedLater(t *testing.T) {
	p := newPolicies(t, "claiming")
	p.withoutAddresses()
	t.Cleanup(p.withoutAddresses)
	p.start()
	policy := p.policy("claiming", nmstatev1.NodeNetworkConfigurationPolicySpec{
		NodeSelector:   map[string]string{"later": "claiming"},
		TemplateValues: []nmstatev1.TemplateValue{{Name: "storage", Address: &nmstatev1.AddressFrom{Namespace: "default", Pool: "later"}}}})
	p.create(&v1beta1.NodeNetworkConfigurationEnactment{ObjectMeta: metav1.ObjectMeta{Name: v1beta1.EnactmentName("claiming", policy.Name),
		Labels: map[string]string{nmstatev1.PolicyLabel: policy.Name, nmstatev1.NodeLabel: "claiming"}}})
	p.within(func() bool {
		return p.api.Get(t.Context(), client.ObjectKeyFromObject(policy), policy) == nil && policy.Status.Rollout != nil
	}, "the policy is judged")
	for kind := range addressDefinitions {
		bare.Server(t).Apply(t, "config/crd/bases/ipam.metal3.io_"+kind+".yaml")
	}
	claims := &metal3.IPClaimList{}
	p.within(func() bool {
		return p.api.List(t.Context(), claims, client.MatchingLabels{nmstatev1.PolicyLabel: policy.Name}) == nil && len(claims.Items) == 1
	}, "an address is claimed for the node")
	require.Equal(t, "later", claims.Items[0].Spec.Pool.Name)
}

// unregistered metrics do not meet those of another operator in this process.
func unregistered(t *testing.T) *netpolicy.Metrics {
	t.Helper()
	m, err := netpolicy.NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	return m
}
