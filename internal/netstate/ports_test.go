package netstate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// controllers are nodes with one controller that has ports, and documents that leave it without any.
var controllers = map[string]struct{ now, none string }{
	"bond": {`
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: eno2, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: c0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [eno2, eno1]}}`,
		"interfaces: [{name: c0, type: bond, state: up, link-aggregation: {mode: active-backup, port: []}}]"},
	"bridge": {`
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: eno2, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: c0, type: linux-bridge, state: up, bridge: {port: [{name: eno1}, {name: eno2}]}}`,
		"interfaces: [{name: c0, type: linux-bridge, state: up, bridge: {port: []}}]"},
	"vrf": {`
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: eno2, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: c0, type: vrf, state: up, vrf: {route-table-id: 9, port: [eno1, eno2]}}`,
		"interfaces: [{name: c0, type: vrf, state: up, vrf: {route-table-id: 9, port: []}}]"},
}

func TestAListWithoutPortsIsAChange(t *testing.T) {
	for kind, c := range controllers {
		t.Run(kind, func(t *testing.T) {
			now, none := parse(t, c.now), parse(t, c.none)
			require.NotEmpty(t, Compare(none, now), "the ports are there still")
			require.Contains(t, written(t, none.Canonical()), "port: []", "the canonical form keeps the empty list")
			diff := Diff(now, none)
			require.Contains(t, written(t, diff), "port: []")
			after := Merge(now, diff)
			i, _ := after.Find("c0", "")
			require.Empty(t, i.Ports())
			require.Empty(t, Compare(none, after))
			require.Equal(t, Document{}, Diff(after, none), "applied again, it changes nothing")
			require.Equal(t, plainState(now), plainState(Merge(after, Revert(none, now))))
		})
	}
}

// A shorter list is a change as well, and a list that is not mentioned is none.
func TestAPortThatIsListedNoMore(t *testing.T) {
	now := parse(t, controllers["bridge"].now)
	shorter := parse(t, "interfaces: [{name: c0, type: linux-bridge, bridge: {port: [{name: eno1}]}}]")
	found := Compare(shorter, now)
	require.Len(t, found, 1)
	require.Equal(t, "bridge c0 has port eno2, which the document does not list", found[0].Sentence)
	silent := parse(t, "interfaces: [{name: c0, type: linux-bridge, bridge: {options: {stp: {}}}}]")
	require.Empty(t, Compare(silent, now))
}

// What containers and virtual machines attach, no document lists.
func TestPortsOfOthersStay(t *testing.T) {
	now := parse(t, `
interfaces:
- {name: veth7, type: veth, state: ignore}
- {name: tap7, type: tun, state: up}
- {name: c0, type: linux-bridge, state: up, bridge: {port: [{name: tap7}, {name: veth7}]}}`)
	require.Empty(t, Compare(parse(t, controllers["bridge"].none), now))
}

// filtering is a bridge with one port of each kind, as an observer reports it.
const filtering = `
interfaces:
- {name: eno1, type: ethernet, state: up}
- {name: eno2, type: ethernet, state: up}
- name: c0
  type: linux-bridge
  state: up
  bridge:
    options: {vlan-default-pvid: 1}
    port: [{name: eno1, vlan: {mode: access, tag: 7}}, {name: eno2, vlan: {mode: trunk, enable-native: false, trunk-tags: [{id: 9}, {id-range: {min: 20, max: 22}}]}}]`

func bridgeOf(first, second string) string {
	return "interfaces: [{name: c0, type: linux-bridge, state: up, bridge: {port: [{name: eno1, vlan: " + first + "}, {name: eno2, vlan: " + second + "}]}}]"
}

func TestFiltersThatMeanTheSame(t *testing.T) {
	now := parse(t, filtering)
	for first, second := range map[string]string{
		"{mode: access, tag: 7}":                       "{mode: trunk, trunk-tags: [{id: 9}, {id-range: {min: 20, max: 22}}]}",
		"{mode: access, tag: 7, enable-native: false}": "{mode: trunk, enable-native: true, tag: 1, trunk-tags: [{id: 22}, {id: 20}, {id: 21}, {id: 9}]}",
	} {
		same := parse(t, bridgeOf(first, second))
		require.NoError(t, Validate(same))
		require.Empty(t, Compare(same, now))
		require.Equal(t, Document{}, Diff(now, same))
	}
}

func TestFiltersThatDiffer(t *testing.T) {
	now := parse(t, filtering)
	const trunk = "{mode: trunk, trunk-tags: [{id: 9}, {id-range: {min: 20, max: 22}}]}"
	for first, second := range map[string]string{
		"{}":                     trunk,
		"{mode: access, tag: 1}": trunk,
		"{mode: access, tag: 8}": trunk,
		"{mode: access, tag: 7}": "{mode: trunk, enable-native: true, tag: 7, trunk-tags: [{id: 9}, {id-range: {min: 20, max: 22}}]}",
	} {
		other := parse(t, bridgeOf(first, second))
		require.NotEmpty(t, Compare(other, now), first)
		diff := Diff(now, other)
		require.Equal(t, plainState(Merge(now, other)), plainState(Merge(now, diff)))
		require.NotEqual(t, Document{}, diff, first)
	}
}

// A port without a filter is in the bridge's default VLAN, as one that names it.
func TestTheDefaultVLANIsNoFilter(t *testing.T) {
	now := parse(t, strings.Replace(filtering, "{name: eno1, vlan: {mode: access, tag: 7}}", "{name: eno1}", 1))
	for _, first := range []string{"{}", "{mode: access, tag: 1}"} {
		same := parse(t, bridgeOf(first, "{mode: trunk, trunk-tags: [{id: 9}, {id-range: {min: 20, max: 22}}]}"))
		require.Empty(t, Compare(same, now), first)
		require.Equal(t, Document{}, Diff(now, same), first)
	}
}

// An option without a value takes the primary port of a bond away.
func TestAPrimaryThatIsEmptied(t *testing.T) {
	bond := func(options string) Document {
		return parse(t, "interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, options: {"+options+"}, port: [a, b]}}]")
	}
	now, none, without := bond("miimon: 100, primary: a"), bond("primary: ''"), bond("miimon: 100")
	require.NoError(t, Validate(none))
	require.Len(t, Compare(none, now), 1)
	diff := Diff(now, none)
	require.Contains(t, written(t, diff), `primary: ""`)
	require.Equal(t, plainState(without), plainState(Merge(now, diff)))
	require.Empty(t, Compare(none, without))
	require.Equal(t, Document{}, Diff(without, none), "applied again, it changes nothing")
	require.Equal(t, plainState(now), plainState(Merge(without, Revert(none, now))))
	other := bond("primary: b")
	require.Equal(t, plainState(without), plainState(Merge(Merge(without, other), Revert(other, without))), "a new one goes with the revert")
}
