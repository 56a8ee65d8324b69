package nodewide

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

var now = netstate.Document{
	Hostname: &netstate.Hostname{Running: new("node-1")},
	OVSDB:    &netstate.OVSDB{ExternalIDs: map[string]*string{"system-id": new("s"), "rack": new("six")}},
	OVN:      &netstate.OVN{BridgeMappings: []netstate.BridgeMapping{{Localnet: "former", Bridge: "br-ex"}}},
}

func wanted(t *testing.T, text string) netstate.Document {
	t.Helper()
	d, err := netstate.Decode([]byte(text))
	require.NoError(t, err)
	require.NoError(t, netstate.Validate(d))
	return d
}

// The journal holds the way back of each key that changes, and of no other.
func TestTheWayBackIsOfTheSameKeys(t *testing.T) {
	c, err := Plan(wanted(t, `
hostname: {config: node-7}
ovs-db: {external_ids: {rack: seven, row: '1', system-id: s}}
ovn: {bridge-mappings: [{localnet: former, state: absent}, {localnet: physnet, bridge: br-phys}]}
`), now, false)
	require.NoError(t, err)
	require.Equal(t, []string{"hostname.config", "ovs-db.external_ids.rack", "ovs-db.external_ids.row",
		"ovn.bridge-mappings[former]", "ovn.bridge-mappings[physnet]"}, c.Keys())
	text, err := json.Marshal(c)
	require.NoError(t, err)
	var stored Change
	require.NoError(t, json.Unmarshal(text, &stored))
	require.Equal(t, &netstate.Hostname{Running: new("node-1"), Config: new("")}, stored.Old.Hostname)
	require.Equal(t, &netstate.OVSDB{ExternalIDs: map[string]*string{"rack": new("six"), "row": nil}}, stored.Old.OVSDB)
	require.ElementsMatch(t, []netstate.BridgeMapping{{Localnet: "former", Bridge: "br-ex"}, {Localnet: "physnet", State: netstate.StateAbsent}},
		stored.Old.OVN.BridgeMappings)
}

func TestWhatIsInPlaceIsNoChange(t *testing.T) {
	c, err := Plan(wanted(t, "{hostname: {running: node-1}, ovs-db: {external_ids: {rack: six, gone: null}}}"), now, false)
	require.NoError(t, err)
	require.Nil(t, c)
}

// What is kept on the disk at once cannot end with the boot.
func TestAnEphemeralChangeKeepsNothingOnTheDisk(t *testing.T) {
	for text, path := range map[string]string{
		"hostname: {config: node-7}": "hostname.config", "ovs-db: {other_config: {a: b}}": "ovs-db",
		"ovn: {bridge-mappings: [{localnet: n, bridge: b}]}": "ovn.bridge-mappings",
	} {
		_, err := Plan(wanted(t, text), now, true)
		require.ErrorContains(t, err, path+": an ephemeral change")
	}
	_, err := Plan(wanted(t, "hostname: {running: node-7}"), now, true)
	require.NoError(t, err)
}
