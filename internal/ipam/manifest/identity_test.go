package manifest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/audit"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
)

const masters = `---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: openshift-master-0, namespace: ns}
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: openshift-master-1, namespace: elsewhere}
`

// A reservation has the identity that the claims of the host's machines have, where the files have the host.
func TestReservationsNameTheHostAsItsMachinesDo(t *testing.T) {
	for name, c := range map[string]struct {
		files       string
		reservation manifest.Reservation
		want        string
	}{
		"no hosts":                 {pools, manifest.Reservation{Host: "master-0"}, "master-0"},
		"by the name of the node":  {pools + masters, manifest.Reservation{Host: "master-0", Interface: "ens4"}, "ns/openshift-master-0/ens4"},
		"by the name of the host":  {pools + masters, manifest.Reservation{Host: "openshift-master-0"}, "ns/openshift-master-0"},
		"of another namespace":     {pools + masters, manifest.Reservation{Host: "master-1"}, "master-1"},
		"MAC address as interface": {pools + masters, manifest.Reservation{Host: "master-0", Interface: "52:54:00:00:00:01"}, "ns/openshift-master-0/52:54:00:00:00:01"},
	} {
		t.Run(name, func(t *testing.T) {
			v := read(t, c.files)
			c.reservation.Pool = "ns/a"
			got, err := v.Reserve([]manifest.Reservation{c.reservation}, options())
			require.NoError(t, err)
			require.Equal(t, c.want, got[0].Claim.Annotations[metal3.HostAnnotation])
			again, err := v.Reserve([]manifest.Reservation{c.reservation}, options())
			require.NoError(t, err)
			require.Equal(t, got, again)
			host, err := v.Host(c.reservation.Host, []manifest.Attachment{{Pools: []string{"ns/a"}}}, options())
			require.ErrorContains(t, err, "interface") // it has none, but its address was found
			require.Empty(t, host.Interfaces[0].Name)
		})
	}
	v := read(t, pools+masters+"---\napiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: master-0, namespace: ns}\n")
	got, err := v.Reserve([]manifest.Reservation{{Pool: "ns/a", Host: "master-0"}}, options())
	require.NoError(t, err)
	require.Equal(t, "ns/master-0", got[0].Claim.Annotations[metal3.HostAnnotation], "the host of that very name")
}

// A reservation from before the host was known gets its identity when it is reserved again with the host among the files.
func TestReservingAgainWritesTheIdentity(t *testing.T) {
	v := read(t, pools)
	_, err := v.Reserve([]manifest.Reservation{{Pool: "ns/a", Host: "master-0"}}, options())
	require.NoError(t, err)
	v.Hosts = read(t, masters).Hosts
	got, err := v.Reserve([]manifest.Reservation{{Pool: "ns/a", Host: "master-0"}}, options())
	require.NoError(t, err)
	require.Equal(t, "ns/openshift-master-0", got[0].Claim.Annotations[metal3.HostAnnotation])
	require.Len(t, v.Claims, 1)
}

// A pool on a network that is another namespace's is a finding, and no conflict of the owner's.
func TestAPoolOfAnotherNamespaceIsAFinding(t *testing.T) {
	guest := "---\napiVersion: ipam.metal3.io/v1alpha1\nkind: IPPool\nmetadata: {name: guest, namespace: zoo}\n" +
		"spec: {namePrefix: g, network: net, prefix: 24, pools: [{start: 10.0.0.10, end: 10.0.0.19}]}\n"
	facts, err := read(t, pools+guest).Facts(now)
	require.NoError(t, err)
	found := audit.Check(facts)
	require.Len(t, found, 1)
	require.Equal(t, audit.Conflict, found[0].Problem)
	require.Contains(t, found[0].Text, "pool zoo/guest allocates nothing: network net belongs to namespace ns")
	granted := strings.Replace(pools, "{name: a, namespace: ns}", "{name: a, namespace: ns, annotations: {"+metal3.NetworkGrantAnnotation+": zoo}}", 1)
	facts, err = read(t, granted+guest).Facts(now)
	require.NoError(t, err)
	found = audit.Check(facts)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Text, "overlaps")
}
