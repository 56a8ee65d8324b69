package lca_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// fullSpec sets every field that is locked unless the object is Idle, but for
// the DNS filter, which can not be set at creation.
const fullSpec = `{
  stage: Idle,
  ipv4: {address: 192.0.2.10, machineNetwork: 192.0.2.0/24, gateway: 192.0.2.1},
  ipv6: {address: "2001:db8::10", machineNetwork: "2001:db8::/64", gateway: "fe80::1"},
  dnsServers: [192.0.2.53, "2001:db8::53"],
  vlanID: 100,
  autoRollbackOnFailure: {initMonitorTimeoutSeconds: 600},
  probes: [{name: registry, type: tcp, target: "registry.example.com:5000"}],
}`

// lockedChanges are changes of the six locked fields of fullSpec.
var lockedChanges = []struct{ name, field, patch string }{
	{"change ipv4.address", "ipv4", `{ipv4: {address: 192.0.2.11}}`},
	{"change ipv4.machineNetwork", "ipv4", `{ipv4: {machineNetwork: 192.0.2.0/25}}`},
	{"change ipv4.gateway", "ipv4", `{ipv4: {gateway: 192.0.2.2}}`},
	{"remove ipv4.gateway", "ipv4", `{ipv4: {gateway: null}}`},
	{"remove ipv4", "ipv4", `{ipv4: null}`},
	{"change ipv6.address", "ipv6", `{ipv6: {address: "2001:db8::11"}}`},
	{"change ipv6.machineNetwork", "ipv6", `{ipv6: {machineNetwork: "2001:db8::/56"}}`},
	{"change ipv6.gateway", "ipv6", `{ipv6: {gateway: "fe80::2"}}`},
	{"remove ipv6", "ipv6", `{ipv6: null}`},
	{"add a DNS server", "dnsServers", `{dnsServers: [192.0.2.53, "2001:db8::53", 192.0.2.54]}`},
	{"reorder DNS servers", "dnsServers", `{dnsServers: ["2001:db8::53", 192.0.2.53]}`},
	{"remove DNS servers", "dnsServers", `{dnsServers: null}`},
	{"empty DNS servers", "dnsServers", `{dnsServers: []}`},
	{"set DNS filter", "dnsFilterOutFamily", `{dnsFilterOutFamily: ipv4}`},
	{"set DNS filter to none", "dnsFilterOutFamily", `{dnsFilterOutFamily: none}`},
	{"change VLAN", "vlanID", `{vlanID: 101}`},
	{"remove VLAN", "vlanID", `{vlanID: null}`},
	{"zero VLAN", "vlanID", `{vlanID: 0}`},
	{"change timeout", "autoRollbackOnFailure", `{autoRollbackOnFailure: {initMonitorTimeoutSeconds: 601}}`},
	{"change probes", "probes", `{probes: [{name: registry, type: tcp, target: "registry.example.com:5001"}]}`},
	{"remove probes", "probes", `{probes: null}`},
	{"remove timeout", "autoRollbackOnFailure", `{autoRollbackOnFailure: null}`},
}

// locked is the answer to changing a field while the object is not Idle.
func locked(field string) *refusal {
	return &refusal{"spec." + field, "can not change spec." + field + " while ipconfig is not idle; finish or roll back the current change, " +
		"set spec.stage to Idle and wait for condition Idle to be True"}
}

func TestSpecIsLockedUnlessIdle(t *testing.T) {
	const idleUnknown = `conditions: [{type: Idle, status: Unknown, reason: InProgress, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]`
	const otherTrue = `conditions: [{type: ConfigCompleted, status: "True", reason: Completed, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]`
	states := []struct {
		name, status string
		locked       bool
	}{
		{"idle", status(idle, addresses4, addresses6, ready), false},
		{"busy", status(busy, addresses4, addresses6, ready), true},
		{"idle unknown", status(idleUnknown, addresses4, addresses6, ready), true},
		{"only another condition", status(otherTrue, addresses4, addresses6, ready), true},
		{"no conditions", status(addresses4, addresses6, ready), true},
	}
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			for _, change := range lockedChanges {
				t.Run(change.name, func(t *testing.T) {
					server := newSingleton(t)
					server.mustCreate(t, fullSpec)
					server.observe(t, state.status)
					var want *refusal
					if state.locked {
						want = locked(change.field)
					}
					requireAnswer(t, server.patch(t, `spec: `+change.patch), want)
				})
			}
		})
	}
}

func TestSpecIsLockedBeforeThereIsAStatus(t *testing.T) {
	server := newSingleton(t)
	server.mustCreate(t, fullSpec)
	requireAnswer(t, server.patch(t, `spec: {vlanID: 101}`), locked("vlanID"))
}

// What changes nothing is not a change: spelling out a zero value that was left
// out, or the other way round, passes at any time. The VLAN is not among these: there 0 is a value.
func TestEqualMeaningIsNoChange(t *testing.T) {
	tests := []struct{ name, spec, patch string }{
		{"spell out zero values", `{stage: Idle}`,
			`{dnsServers: [], dnsFilterOutFamily: "", autoRollbackOnFailure: {initMonitorTimeoutSeconds: 0}}`},
		{"empty timeout", `{stage: Idle}`, `{autoRollbackOnFailure: {}}`},
		{"leave out zero values", `{stage: Idle, dnsServers: [], dnsFilterOutFamily: "", autoRollbackOnFailure: {initMonitorTimeoutSeconds: 0}}`,
			`{dnsServers: null, dnsFilterOutFamily: null, autoRollbackOnFailure: null}`},
		{"same values again", fullSpec, strings.TrimSpace(fullSpec)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := newSingleton(t)
			server.mustCreate(t, test.spec)
			server.observe(t, status(busy, addresses4, addresses6))
			require.NoError(t, server.patch(t, `spec: `+test.patch))
		})
	}
}

// Left out keeps the VLAN, 0 removes it: one can not become the other while a change runs.
func TestVLANZeroAndLeftOutDiffer(t *testing.T) {
	for _, test := range []struct{ name, spec, patch string }{
		{"left out to 0", `{stage: Idle}`, `{vlanID: 0}`},
		{"0 to left out", `{stage: Idle, vlanID: 0}`, `{vlanID: null}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newSingleton(t)
			server.mustCreate(t, test.spec)
			server.observe(t, status(busy, addresses4))
			requireAnswer(t, server.patch(t, `spec: `+test.patch), locked("vlanID"))
			server.observe(t, status(idle, addresses4))
			require.NoError(t, server.patch(t, `spec: `+test.patch))
		})
	}
}

// The API server stores what the user said: a typed client reads 0 and nothing back as two things.
func TestVLANZeroIsStored(t *testing.T) {
	for spec, want := range map[string]*int32{`{stage: Idle}`: nil, `{stage: Idle, vlanID: 0}`: new(int32)} {
		server := newSingleton(t)
		server.mustCreate(t, spec)
		ipc := &lcav1.IPConfig{}
		require.NoError(t, server.Client.Get(t.Context(), client.ObjectKey{Name: lcav1.IPConfigName}, ipc))
		require.Equal(t, want, ipc.Spec.VLANID, spec)
		ipc.Labels = map[string]string{"a": "b"}
		require.NoError(t, server.Client.Update(t.Context(), ipc))
		require.NoError(t, server.Client.Get(t.Context(), client.ObjectKey{Name: lcav1.IPConfigName}, ipc))
		require.Equal(t, want, ipc.Spec.VLANID, "written back: %s", spec)
	}
}

func TestVLANMayBeAddedChangedAndRemoved(t *testing.T) {
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle}`)
	server.observe(t, status(idle, addresses4))
	for _, patch := range []string{`{vlanID: 100}`, `{vlanID: 4094}`, `{vlanID: null}`, `{vlanID: 1}`, `{vlanID: 0}`} {
		require.NoError(t, server.patch(t, `spec: `+patch), patch)
	}
	require.Error(t, server.patch(t, `spec: {vlanID: 4095}`))
}

// Stage and network can be changed in one request.
func TestNetworkAndStageInOneRequest(t *testing.T) {
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle}`)
	server.observe(t, status(idle, addresses4, ready))
	require.NoError(t, server.patch(t, `spec: {stage: Config, ipv4: {address: 192.0.2.10}, vlanID: 5}`))
}

// Going back to Idle does not unlock the spec by itself; the agent has to say
// that it is Idle first.
func TestLeavingConfigAndChangingTheNetworkInOneRequest(t *testing.T) {
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle}`)
	server.observe(t, status(idle, addresses4, ready))
	require.NoError(t, server.patch(t, `spec: {stage: Config}`))
	server.observe(t, status(busy, `validNextStages: [Idle, Rollback]`))
	requireAnswer(t, server.patch(t, `spec: {stage: Idle, vlanID: 5}`), locked("vlanID"))
}
