package effects_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/test/effects"
)

// The tests that several rows name.
var (
	requested = effects.In("internal/ipconfig", "TestRequestTakesFromTheNodeWhatTheSpecLeavesOut")
	rendered  = effects.In("internal/ipconfig/network", "TestNetworkDocumentOfAnUntaggedUplink")
	probed    = effects.In("internal/ipconfig/change", "TestProbesTravelWithTheRequest")
	decided   = effects.In("internal/controller/seedgen", "TestSecretsThatNeedADecisionAreReported")
	obeyed    = effects.In("internal/seed/secretscan", "TestDecisionsOfTheUserCount")
	read      = effects.In("internal/ipam/kinds", "TestEveryFieldOfAPoolIsRead")
	referred  = effects.In("internal/controller/ipam", "TestTheReferenceOfAClaim")
)

// Users write these types into a cluster; site configurations, manifest.json and ClusterRelocation have their tables beside their types,
// and the keys of network documents are walked in internal/host/nm/plan.
func TestEveryFieldOfTheAPIHasAnEffect(t *testing.T) {
	for of, rows := range map[reflect.Type]map[string]effects.Row{
		reflect.TypeFor[lcav1.IPConfigSpec](): {
			"stage":        effects.In("internal/ipconfig", "TestEveryRequestIsHonouredByTheTable"),
			"ipv4.address": requested, "ipv4.machineNetwork": requested, "ipv4.gateway": requested,
			"ipv6.address": requested, "ipv6.machineNetwork": requested, "ipv6.gateway": requested,
			"dnsServers[]":       rendered,
			"vlanID":             effects.In("internal/ipconfig/network", "TestVLANMayBeAddedChangedAndRemoved"),
			"dnsFilterOutFamily": effects.In("internal/ipconfig/change", "TestTheOverrideIsOfAFamilyThatTheFilterLeavesIn"),
			"autoRollbackOnFailure.initMonitorTimeoutSeconds": effects.In("internal/controller/ipconfig", "TestAnnotationsReachTheNode"),
			"probes[].*": probed,
		},
		reflect.TypeFor[lcav1.SeedGeneratorSpec](): {
			"seedImage":                  effects.In("internal/controller/seedgen", "TestAnImageOfAClusterWithoutHub"),
			"recertImage":                effects.In("internal/seed/create", "TestAnImageHasWhatTheFieldReads"),
			"signingSecret":              effects.In("internal/controller/seedgen", "TestWhatIsRefusedChangesNothing"),
			"secretDecisions[].object":   decided,
			"secretDecisions[].decision": decided,
			"secretDecisions[].reason":   decided,
			"secretDecisions[].key":      obeyed,
			"secretDecisions[].path":     obeyed,
		},
		reflect.TypeFor[metal3.IPPoolSpec](): {
			"clusterName": effects.In("internal/controller/ipam", "TestAPoolIsPausedWithItsCluster"),
			"namePrefix":  effects.In("internal/controller/ipam", "TestAddressesFromBeforeLocksAreAdopted"),
			"pools[].*":   read, "prefix": read, "gateway": read, "dnsServers[]": read, "preAllocations": read,
			"allocationStrategy": read, "network": read, "vlan": read, "exclusions[]": read, "dhcpRange.*": read,
			"quarantine": read, "sticky": read,
		},
		reflect.TypeFor[metal3.IPClaimSpec](): {"pool.*": referred},
	} {
		t.Run(of.Name(), func(t *testing.T) { require.Empty(t, effects.Problems(effects.Fields(of), rows, "../..")) })
	}
}
