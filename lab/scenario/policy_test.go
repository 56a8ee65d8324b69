//go:build lab

package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
)

const (
	goodRoute = "default via 192.0.2.1 dev br-ex"
	deadRoute = "default via 192.0.2.254 dev br-ex"
)

// bridge is a policy as kubernetes-nmstate's users write them. Its port is one end of a cable on the node.
const bridge = `
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: storage}
spec:
  nodeSelector: {node-role.kubernetes.io/control-plane: ""}
  desiredState:
    interfaces:
    - name: st0
      type: veth
      state: up
      veth: {peer: st1}
    - name: br1
      description: storage
      type: linux-bridge
      state: up
      ipv4:
        enabled: true
        dhcp: false
        address:
        - {ip: 203.0.113.5, prefix-length: 24}
      bridge:
        options:
          stp: {enabled: false}
        port:
        - name: st0
    routes:
      config:
      - destination: 203.0.114.0/24
        next-hop-address: 203.0.113.1
        next-hop-interface: br1
`

// tenants is a bridge of Open vSwitch with an internal interface that is tagged. The node's kernel has no datapath of its own.
const tenants = `
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: tenants}
spec:
  onDelete: Revert
  desiredState:
    interfaces:
    - name: br-data
      type: ovs-bridge
      state: up
      ovs-db: {external_ids: {used-by: tenants}}
      bridge:
        options: {datapath: netdev}
        port:
        - name: data0
          vlan: {mode: access, tag: 42}
    - name: data0
      type: ovs-interface
      state: up
      ipv4:
        enabled: true
        dhcp: false
        address:
        - {ip: 198.51.100.5, prefix-length: 24}
    ovn:
      bridge-mappings:
      - {localnet: data, bridge: br-data}
`

// deadGateway gives the node a default gateway that nobody has.
const deadGateway = `
apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: gateway}
spec:
  probes: {timeoutSeconds: %d}
  desiredState:
    routes:
      config:
      - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.1, state: absent}
      - {destination: 0.0.0.0/0, next-hop-interface: br-ex, next-hop-address: 192.0.2.254}
`

// policies are a node with both roles as pods, and its administrator.
type policies struct {
	t   *testing.T
	lab *lab.Lab
	api client.Client
}

// TestNetworkPolicies changes a node's network by policies while it runs: one that is good, one that would cut the node off, and
// that one again with everything killed while it is on trial, and with the power cut.
func TestNetworkPolicies(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, _ := node(t, "scenario-policy")
	p := policies{t, l, install(ctx, t, l, "nmstate")}
	boot := p.boot(ctx)
	p.follows(ctx)
	p.takesOn(ctx)
	p.switches(ctx)
	p.rollsBack(ctx)
	p.survivesKills(ctx)
	require.Equal(t, boot, p.boot(ctx), "all that without a reboot")
	p.survivesAPowerCut(ctx)
}

// follows says that what happens on the node is published at once.
func (p policies) follows(ctx context.Context) {
	p.t.Helper()
	const extra = "192.0.2.99"
	p.published(ctx, "the first state", func(state string) bool { return strings.Contains(state, home.String()) })
	for _, c := range []struct {
		verb    string
		present bool
	}{{"add", true}, {"del", false}} {
		in(ctx, p.t, p.lab, "ip", "address", c.verb, extra+"/32", "dev", "br-ex")
		began := time.Now()
		p.published(ctx, "the changed link", func(state string) bool { return strings.Contains(state, extra) == c.present })
		p.t.Logf("the state follows %s after ip address %s", time.Since(began).Round(time.Millisecond), c.verb)
	}
}

// takesOn says that a good policy is carried out without a reboot, and that nothing is written again for it.
func (p policies) takesOn(ctx context.Context) {
	p.t.Helper()
	began := time.Now()
	p.apply(ctx, bridge)
	p.policyIs(ctx, "storage", nmstatev1.PolicyAvailable)
	p.t.Logf("policy storage is Available %s after it was created", time.Since(began).Round(time.Millisecond))
	e := p.enactmentIs(ctx, "storage", nmstatev1beta1.EnactmentAvailable)
	require.NotNil(p.t, e.Status.RevertState)
	p.hasBridge(ctx)
	require.Equal(p.t, "yes", in(ctx, p.t, p.lab, "sh", "-c", "grep -lq 203.0.113.5 /etc/NetworkManager/system-connections/* && echo yes"))
}

// switches says that a bridge of Open vSwitch comes and goes with its policy, and that OVN's bridge and mappings stay.
func (p policies) switches(ctx context.Context) {
	p.t.Helper()
	others := in(ctx, p.t, p.lab, "ovs-vsctl", "list-br")
	began := time.Now()
	p.apply(ctx, tenants)
	p.policyIs(ctx, "tenants", nmstatev1.PolicyAvailable)
	p.t.Logf("policy tenants is Available %s after it was created", time.Since(began).Round(time.Millisecond))
	require.Equal(p.t, "42", in(ctx, p.t, p.lab, "ovs-vsctl", "get", "Port", "data0", "tag"))
	require.Contains(p.t, in(ctx, p.t, p.lab, "ip", "-4", "address", "show", "dev", "data0"), "198.51.100.5/24")
	require.Contains(p.t, in(ctx, p.t, p.lab, "ovs-vsctl", "get", "Open_vSwitch", ".", "external_ids:ovn-bridge-mappings"), "data:br-data")
	p.published(ctx, "the bridge", func(state string) bool { return strings.Contains(state, "br-data") })
	p.forget(ctx, "tenants")
	until(ctx, p.t, "the bridges of before", func() bool { return in(ctx, p.t, p.lab, "ovs-vsctl", "list-br") == others })
	require.False(p.t, says(ctx, p.lab, "ovs-vsctl get Open_vSwitch . external_ids | grep -q br-data"))
}

// rollsBack says that a policy that would cut the node off is undone by the node itself, which then tells why.
func (p policies) rollsBack(ctx context.Context) {
	p.t.Helper()
	p.apply(ctx, fmt.Sprintf(deadGateway, 3))
	p.untilRoute(ctx, deadRoute)
	began := time.Now()
	p.untilRoute(ctx, goodRoute)
	p.t.Logf("the old gateway is back %s after the dead one was seen", time.Since(began).Round(time.Millisecond))
	e := p.enactmentIs(ctx, "gateway", nmstatev1beta1.EnactmentFailing)
	require.NotNil(p.t, e.Status.Failure)
	require.Equal(p.t, "Probe", e.Status.Failure.Phase)
	require.True(p.t, e.Status.Failure.RolledBack)
	require.Equal(p.t, "Gateway", e.Status.Failure.Probe.Name)
	require.Equal(p.t, "192.0.2.254", e.Status.Failure.Probe.Target)
	p.policyIs(ctx, "gateway", nmstatev1.PolicyDegraded)
	p.forget(ctx, "gateway")
	p.hasBridge(ctx)
}

// survivesKills kills the change and the agent while the new network is on trial.
func (p policies) survivesKills(ctx context.Context) {
	p.t.Helper()
	p.apply(ctx, fmt.Sprintf(deadGateway, 10))
	p.untilRoute(ctx, deadRoute)
	in(ctx, p.t, p.lab, "sh", "-c",
		"systemctl kill --signal=KILL lca-network-enact.service; pkill --signal KILL --full '^/usr/local/bin/lifecycle-agent node'")
	began := time.Now()
	p.untilRoute(ctx, goodRoute)
	p.t.Logf("the old gateway is back %s after the kill", time.Since(began).Round(time.Millisecond))
	p.enactmentIs(ctx, "gateway", nmstatev1beta1.EnactmentFailing)
	p.forget(ctx, "gateway")
}

// survivesAPowerCut cuts the power while the new network is on trial: nothing of it is there after the boot.
func (p policies) survivesAPowerCut(ctx context.Context) {
	p.t.Helper()
	p.apply(ctx, fmt.Sprintf(deadGateway, 10))
	p.untilRoute(ctx, deadRoute)
	cut(ctx, p.t, p.lab)
	until(ctx, p.t, "the default route of br-ex", func() bool {
		return says(ctx, p.lab, "ip -4 route show default | grep -qF '"+goodRoute+"'")
	})
	require.False(p.t, says(ctx, p.lab, "grep -q 192.0.2.254 /etc/NetworkManager/system-connections/*"))
	p.enactmentIs(ctx, "gateway", nmstatev1beta1.EnactmentFailing)
	p.forget(ctx, "gateway")
	p.hasBridge(ctx)
}

func (p policies) apply(ctx context.Context, manifest string) {
	p.t.Helper()
	_, err := p.lab.Apply(ctx, strings.NewReader(manifest))
	require.NoError(p.t, err)
}

// forget deletes a policy, and waits until the node is as it was without it.
func (p policies) forget(ctx context.Context, name string) {
	p.t.Helper()
	policy := &nmstatev1.NodeNetworkConfigurationPolicy{}
	policy.Name = name
	require.NoError(p.t, p.api.Delete(ctx, policy))
	until(ctx, p.t, "the end of the enactment of "+name, func() bool {
		e := &nmstatev1beta1.NodeNetworkConfigurationEnactment{}
		gone := p.api.Get(ctx, client.ObjectKey{Name: nmstatev1beta1.EnactmentName("sno", name)}, e)
		return client.IgnoreNotFound(gone) == nil && gone != nil && says(ctx, p.lab, "! systemctl is-active --quiet lca-network-enact.service")
	})
	require.Contains(p.t, p.route(ctx), goodRoute)
}

func (p policies) hasBridge(ctx context.Context) {
	p.t.Helper()
	until(ctx, p.t, "the bridge with its address and its route", func() bool {
		return says(ctx, p.lab, "ip -4 address show dev br1 | grep -q 'inet 203.0.113.5/24' && ip route | grep -q '^203.0.114.0/24 via 203.0.113.1 dev br1' && "+
			"ip link show dev st0 | grep -q 'master br1'")
	})
}

func (p policies) boot(ctx context.Context) string {
	return in(ctx, p.t, p.lab, "cat", "/proc/sys/kernel/random/boot_id")
}

func (p policies) route(ctx context.Context) string {
	return in(ctx, p.t, p.lab, "ip", "-4", "route", "show", "default")
}

func (p policies) untilRoute(ctx context.Context, route string) {
	p.t.Helper()
	until(ctx, p.t, route, func() bool { return strings.HasPrefix(p.route(ctx), route) })
}

// published waits until the node's state is as it should be.
func (p policies) published(ctx context.Context, what string, reached func(state string) bool) {
	p.t.Helper()
	until(ctx, p.t, what, func() bool {
		state := &nmstatev1beta1.NodeNetworkState{}
		err := p.api.Get(ctx, client.ObjectKey{Name: "sno"}, state)
		return err == nil && state.Status.CurrentState != nil && reached(string(state.Status.CurrentState.Raw))
	})
}

// enactmentIs waits until a condition of the policy's enactment on the node is True.
func (p policies) enactmentIs(ctx context.Context, policy, condition string) *nmstatev1beta1.NodeNetworkConfigurationEnactment {
	p.t.Helper()
	e := &nmstatev1beta1.NodeNetworkConfigurationEnactment{}
	until(ctx, p.t, "an enactment of "+policy+" that is "+condition, func() bool {
		err := p.api.Get(ctx, client.ObjectKey{Name: nmstatev1beta1.EnactmentName("sno", policy)}, e)
		return err == nil && is(e.Status.Conditions, condition)
	})
	return e
}

func (p policies) policyIs(ctx context.Context, name, condition string) {
	p.t.Helper()
	policy := &nmstatev1.NodeNetworkConfigurationPolicy{}
	until(ctx, p.t, "a policy "+name+" that is "+condition, func() bool {
		return p.api.Get(ctx, client.ObjectKey{Name: name}, policy) == nil && is(policy.Status.Conditions, condition)
	})
}

func is(conditions []nmstatev1.Condition, kind string) bool {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status == "True"
		}
	}
	return false
}
