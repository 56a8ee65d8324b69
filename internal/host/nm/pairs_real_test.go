package nm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// pairs are the ways in which a document may name a pair of virtual cards.
var pairs = map[string]string{
	"one end": `interfaces: [{name: pair0, type: veth, state: up, veth: {peer: pair1}, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}]`,
	"both ends, one of which names its peer": `interfaces:
- {name: pair0, type: veth, state: up, veth: {peer: pair1}, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}
- {name: pair1, type: veth, state: up}`,
	"ends that name each other": `interfaces:
- {name: pair1, type: veth, state: up, veth: {peer: pair0}, ipv4: {enabled: true, address: [{ip: 203.0.113.9, prefix-length: 24}]}}
- {name: pair0, type: veth, state: up, veth: {peer: pair1}, ipv4: {enabled: true, address: [{ip: 198.51.100.9, prefix-length: 24}]}}`,
	"ends that name each other, the second first": `interfaces:
- {name: pair0, type: veth, state: up, veth: {peer: pair1}}
- {name: pair1, type: veth, state: up, veth: {peer: pair0}, ipv4: {enabled: true, address: [{ip: 203.0.113.9, prefix-length: 24}]}}`,
}

// A pair comes up, is in place, and comes back by itself with the next boot.
func TestPairsComeBackAfterABoot(t *testing.T) {
	for name, doc := range pairs {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.refusedByProof(doc)
			n.missing("pair0")
			n.apply(doc)
			n.inPlace(doc)
			n.PowerCut()
			n.boot()
			n.StartNM()
			n.Until("the pair boots", func() bool {
				got, err := n.network().Observe(timeout(t))
				return err == nil && len(netstate.Verify(document(t, doc), got)) == 0
			})
			n.inPlace(doc)
			n.apply("interfaces: [{name: pair0, type: veth, state: absent}, {name: pair1, type: veth, state: absent}]")
			n.missing("pair0")
			n.Until("the uplink is up, too", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
			n.settled()
		})
	}
}

// leaveAlone is what distributions tell NetworkManager of virtual cards, by a rule of udev: containers have them, too.
const leaveAlone = "[device-pairs]\nmatch-device=interface-name:pair*\nmanaged=0\n"

// A pair that NetworkManager would leave alone comes back with the next boot, and only as long as there are profiles for it.
func TestAPairThatIsLeftAloneByDefaultComesBack(t *testing.T) {
	n := newNode(t)
	const conf = "/etc/NetworkManager/conf.d"
	require.NoError(t, n.disk.Write(conf+"/20-pairs.conf", []byte(leaveAlone), 0o644))
	restart := func() {
		n.PowerCut()
		n.boot()
		n.StartNM()
		n.Until("the uplink is up", func() bool { return n.has("192.0.2.10/24", "2001:db8::10/64") })
	}
	restart()
	doc := pairs["ends that name each other"]
	n.refusedByProof(doc)
	before, err := n.disk.List(conf)
	require.NoError(t, err)
	require.Equal(t, []string{"20-pairs.conf"}, before, "what is rolled back leaves nothing")
	n.apply(doc)
	n.settled()
	restart()
	n.Until("the pair boots", func() bool {
		got, err := n.network().Observe(timeout(t))
		return err == nil && len(netstate.Verify(document(t, doc), got)) == 0
	})
	n.inPlace(doc)
	n.apply("interfaces: [{name: pair0, type: veth, state: absent}, {name: pair1, type: veth, state: absent}]")
	after, err := n.disk.List(conf)
	require.NoError(t, err)
	require.Equal(t, before, after)
}
