package change_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// vlanCases are what a user can say about the VLAN of a node, and what becomes of it.
var vlanCases = []struct {
	name     string
	now      int
	spec     *int32
	want     int
	differs  bool
	carrier  string
	vanishes string
}{
	{"left out keeps the VLAN", 100, nil, 100, false, "enp1s0.100", ""},
	{"left out keeps the untagged uplink", 0, nil, 0, false, "enp1s0", ""},
	{"0 removes the VLAN", 100, id(0), 0, true, "enp1s0", "enp1s0.100"},
	{"0 where there is none", 0, id(0), 0, false, "enp1s0", ""},
	{"a number sets a VLAN", 0, id(200), 200, true, "enp1s0.200", ""},
	{"a number replaces the VLAN", 100, id(200), 200, true, "enp1s0.200", "enp1s0.100"},
	{"the same number keeps the VLAN", 100, id(100), 100, false, "enp1s0.100", ""},
}

func id(n int32) *int32 { return &n }

func TestVLANThatIsAskedFor(t *testing.T) {
	for _, c := range vlanCases {
		t.Run(c.name, func(t *testing.T) {
			now := ipconfig.Current{
				IPv4:   &lcav1.IPStatus{Address: oldSite.address, MachineNetwork: oldSite.network, Gateway: oldSite.gateway},
				VLANID: int32(c.now),
			}
			spec := lcav1.IPConfigSpec{
				IPv4:   &lcav1.IPv4Config{Address: newSite.address, MachineNetwork: newSite.network, Gateway: newSite.gateway},
				VLANID: c.spec,
			}
			require.Equal(t, c.differs, slices.Contains(ipconfig.InSync(spec, now), "vlanID"))

			r := ipconfig.BuildRequest("20260102-030405-0001", oldStateroot, spec, now)
			require.Equal(t, c.want, r.VLANID)
			require.Equal(t, c.now, r.CurrentVLANID)

			doc := rendered(t, c.now, r)
			requireCarrier(t, doc, c.carrier, c.want)
			gone, found := doc.Find(c.vanishes, netstate.TypeVLAN)
			require.Equal(t, c.vanishes != "", found)
			if found {
				require.Equal(t, netstate.StateAbsent, gone.State)
			}
		})
	}
}

// rendered is the document of a request on a node with the given VLAN.
func rendered(t *testing.T, vlan int, r ipconfig.Request) netstate.Document {
	t.Helper()
	node := hosttest.NewNode(hosttest.Options{VLAN: vlan})
	now, err := node.Network().Observe(t.Context())
	require.NoError(t, err)
	uplink, err := network.Find(t.Context(), node.Switch(), now)
	require.NoError(t, err)
	require.Equal(t, vlan, uplink.VLAN)
	doc, err := network.Render(r, uplink)
	require.NoError(t, err)
	return doc
}

// requireCarrier wants the new address and the default route on one interface.
func requireCarrier(t *testing.T, doc netstate.Document, name string, vlan int) {
	t.Helper()
	kind := netstate.TypeEthernet
	if vlan > 0 {
		kind = netstate.TypeVLAN
	}
	carrier, found := doc.Find(name, kind)
	require.True(t, found, "%s in %v", name, doc.Interfaces)
	require.Equal(t, netstate.StateUp, carrier.State)
	require.Equal(t, newSite.address, carrier.IPv4.Addresses[0].IP)
	if vlan > 0 {
		require.Equal(t, &netstate.VLAN{ID: vlan, BaseIface: "enp1s0"}, carrier.VLAN)
	}
	last := doc.Routes.Config[len(doc.Routes.Config)-1]
	require.Equal(t, name, last.NextHopInterface)
	require.Equal(t, newSite.gateway, last.NextHopAddress)
}

// A VLAN alone can not be changed: the name of the check says what is wrong and the hint what helps.
func TestVLANChangesOnlyTogetherWithAnAddress(t *testing.T) {
	now := ipconfig.Current{
		IPv4:   &lcav1.IPStatus{Address: oldSite.address, MachineNetwork: oldSite.network, Gateway: oldSite.gateway},
		VLANID: 100,
	}
	same := &lcav1.IPv4Config{Address: oldSite.address}
	for _, c := range []struct {
		name string
		spec lcav1.IPConfigSpec
		ok   bool
	}{
		{"left out", lcav1.IPConfigSpec{IPv4: same}, true},
		{"the present one", lcav1.IPConfigSpec{IPv4: same, VLANID: id(100)}, true},
		{"removed", lcav1.IPConfigSpec{IPv4: same, VLANID: id(0)}, false},
		{"replaced", lcav1.IPConfigSpec{VLANID: id(200)}, false},
		{"removed with an address", lcav1.IPConfigSpec{IPv4: &lcav1.IPv4Config{Address: newSite.address}, VLANID: id(0)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.ok, vlanCheck(t, c.spec, now).Result == lcav1.PreflightPassed)
		})
	}
}

// What NetworkManager would say after the outage has begun is found by the first step, before anything is made.
func TestAKernelWithoutVLANsIsRefusedBeforeTheOutage(t *testing.T) {
	w := newWorld(t)
	w.edit = func(s *lcav1.IPConfigSpec) { s.VLANID = id(200) }
	w.node.Lack(netstate.TypeVLAN)
	require.NoError(t, w.Live(nil))
	w.requireVerdict("old")
	require.Contains(t, w.progress().PrePivot.Failure, "the new network cannot be made: "+
		"interface enp1s0.200: this kernel has no links of type vlan")
	require.Len(t, w.node.Describe().Stateroots, 1, "nothing was made")
}

func vlanCheck(t *testing.T, spec lcav1.IPConfigSpec, now ipconfig.Current) lcav1.PreflightCheck {
	t.Helper()
	for _, check := range preflight.Validate(spec, preflight.Facts{Current: now}) {
		if check.Name == "vlan" {
			return check
		}
	}
	t.Fatal("there is no check of the VLAN")
	return lcav1.PreflightCheck{}
}
