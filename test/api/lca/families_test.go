package lca_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Clusters by the families that their status shows.
var (
	neither   = status(idle, ready)
	ipv4Only  = status(idle, ready, addresses4)
	ipv6Only  = status(idle, ready, addresses6)
	dualStack = status(idle, ready, addresses4, addresses6)
)

// Answers to a family that the cluster does not have.
var (
	noIPv4    = &refusal{"spec.ipv4", "spec.ipv4 cannot be set because the cluster is IPv6-only (status.ipv6 has an address, status.ipv4 has none); remove spec.ipv4"}
	noIPv6    = &refusal{"spec.ipv6", "spec.ipv6 cannot be set because the cluster is IPv4-only (status.ipv4 has an address, status.ipv6 has none); remove spec.ipv6"}
	noIPv4DNS = &refusal{"spec.dnsServers", "spec.dnsServers cannot contain an IPv4 address because the cluster is IPv6-only (status.ipv6 has an address, status.ipv4 has none); list IPv6 servers only"}
	noIPv6DNS = &refusal{"spec.dnsServers", "spec.dnsServers cannot contain an IPv6 address because the cluster is IPv4-only (status.ipv4 has an address, status.ipv6 has none); list IPv4 servers only"}
	noFilter  = &refusal{"spec.dnsFilterOutFamily", "spec.dnsFilterOutFamily can be ipv4 or ipv6 only on a dual-stack cluster, that is when status.ipv4.address and " +
		"status.ipv6.address are both present; use none or leave it out"}
)

func TestFamiliesMustMatchTheCluster(t *testing.T) {
	const (
		v4      = `{ipv4: {address: 192.0.2.10}}`
		v6      = `{ipv6: {address: "2001:db8::10"}}`
		both    = `{ipv4: {address: 192.0.2.10}, ipv6: {address: "2001:db8::10"}}`
		dns4    = `{dnsServers: [192.0.2.53]}`
		dns6    = `{dnsServers: ["2001:db8::53"]}`
		dnsBoth = `{dnsServers: [192.0.2.53, "2001:db8::53"]}`
		filter4 = `{dnsFilterOutFamily: ipv4}`
		filter6 = `{dnsFilterOutFamily: ipv6}`
		off     = `{dnsFilterOutFamily: none}`
		empty   = `{dnsFilterOutFamily: ""}`
		half    = `{conditions: [{type: Idle, status: "True", reason: Idle, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}], ` + addresses4 + `, ipv6: {address: ""}}`
	)
	tests := []struct {
		name, status, patch string
		want                *refusal
	}{
		{"IPv4 on IPv4", ipv4Only, v4, nil},
		{"IPv4 on IPv6", ipv6Only, v4, noIPv4},
		{"IPv4 on dual-stack", dualStack, v4, nil},
		{"IPv4 on unknown", neither, v4, nil},
		{"IPv6 on IPv4", ipv4Only, v6, noIPv6},
		{"IPv6 on IPv6", ipv6Only, v6, nil},
		{"IPv6 on dual-stack", dualStack, v6, nil},
		{"IPv6 on unknown", neither, v6, nil},
		{"IPv6 on an empty IPv6 status", half, v6, noIPv6},
		{"both on IPv4", ipv4Only, both, noIPv6},
		{"both on IPv6", ipv6Only, both, noIPv4},
		{"both on dual-stack", dualStack, both, nil},
		{"IPv4 server on IPv4", ipv4Only, dns4, nil},
		{"IPv4 server on IPv6", ipv6Only, dns4, noIPv4DNS},
		{"IPv6 server on IPv4", ipv4Only, dns6, noIPv6DNS},
		{"IPv6 server on IPv6", ipv6Only, dns6, nil},
		{"mixed servers on IPv4", ipv4Only, dnsBoth, noIPv6DNS},
		{"mixed servers on IPv6", ipv6Only, dnsBoth, noIPv4DNS},
		{"mixed servers on dual-stack", dualStack, dnsBoth, nil},
		{"mixed servers on unknown", neither, dnsBoth, nil},
		{"filter A on dual-stack", dualStack, filter4, nil},
		{"filter AAAA on dual-stack", dualStack, filter6, nil},
		{"filter A on IPv4", ipv4Only, filter4, noFilter},
		{"filter AAAA on IPv6", ipv6Only, filter6, noFilter},
		{"filter A on unknown", neither, filter4, noFilter},
		{"filter A on an empty IPv6 status", half, filter4, noFilter},
		{"no filter on IPv4", ipv4Only, off, nil},
		{"no filter on IPv6", ipv6Only, off, nil},
		{"no filter on unknown", neither, off, nil},
		{"empty filter on IPv4", ipv4Only, empty, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := newSingleton(t)
			server.mustCreate(t, `{stage: Idle}`)
			server.observe(t, test.status)
			requireAnswer(t, server.patch(t, `spec: `+test.patch), test.want)
		})
	}
}

// A new object has no status, so its families are checked when Config is asked
// for; this also closes the way around the rules by deleting and creating.
func TestFamiliesAreCheckedWhenConfigIsRequested(t *testing.T) {
	tests := []struct {
		name, spec, status string
		want               *refusal
	}{
		{"IPv4 on IPv6", `{stage: Idle, ipv4: {address: 192.0.2.10}}`, ipv6Only, noIPv4},
		{"IPv6 on IPv4", `{stage: Idle, ipv6: {address: "2001:db8::10"}}`, ipv4Only, noIPv6},
		{"IPv4 server on IPv6", `{stage: Idle, dnsServers: [192.0.2.53]}`, ipv6Only, noIPv4DNS},
		{"IPv6 server on IPv4", `{stage: Idle, dnsServers: ["2001:db8::53"]}`, ipv4Only, noIPv6DNS},
		{"both on dual-stack", fullSpec, dualStack, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := newSingleton(t)
			server.mustCreate(t, test.spec)
			server.observe(t, test.status)
			requireAnswer(t, server.patch(t, `spec: {stage: Config}`), test.want)
		})
	}
}

// A family that is lost later blocks Config and new values, but neither the
// removal of the old value nor a rollback.
func TestFamilyLostLater(t *testing.T) {
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle}`)
	server.observe(t, dualStack)
	require.NoError(t, server.patch(t, `spec: {ipv6: {address: "2001:db8::10"}, dnsFilterOutFamily: ipv6}`))
	server.observe(t, `{ipv6: null}`)

	require.Equal(t, []refusal{*noIPv6, *noFilter}, refusals(t, server.patch(t, `spec: {stage: Config}`)))
	requireAnswer(t, server.patch(t, `spec: {ipv6: {address: "2001:db8::11"}}`), noIPv6)
	requireAnswer(t, server.patch(t, `spec: {dnsFilterOutFamily: ipv4}`), noFilter)
	require.NoError(t, server.patch(t, `spec: {vlanID: 3}`))

	server.observe(t, `{validNextStages: [Rollback]}`)
	require.NoError(t, server.patch(t, `spec: {stage: Rollback}`))
	server.observe(t, `{validNextStages: [Idle]}`)
	require.NoError(t, server.patch(t, `spec: {stage: Idle}`))
	require.NoError(t, server.patch(t, `spec: {ipv6: null, dnsFilterOutFamily: null}`))
}
