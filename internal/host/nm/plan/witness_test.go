package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/observe"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

// TestTheAppliedConnectionSaysWhatWasAskedFor: of each key whose witness is the applied connection, the connection that a plan
// makes tells the value back.
func TestTheAppliedConnectionSaysWhatWasAskedFor(t *testing.T) {
	documents := splitDocuments(t)
	for _, r := range keys.All() {
		if r.Witness != keys.Applied {
			continue
		}
		key := r.Path
		t.Run(key, func(t *testing.T) {
			path, found := splitPath(key), false
			for _, d := range documents {
				if _, has := without(d, path); !has {
					continue
				}
				found = true
				text := must(yaml.Marshal(d))
				now, snap := effectNode()
				want := must(Resolve(must(netstate.Decode(text)), now))
				p := must(New(want, now, snap, false))
				told := tell(want, p)
				for _, m := range netstate.Compare(want, told) {
					require.False(t, strings.HasSuffix(m.Path, strings.TrimPrefix(key, "interfaces[].")), m.Sentence)
				}
				i, _ := told.Find(want.Interfaces[0].Name, "")
				_, says := without(decoded(t, netstate.Document{Interfaces: []netstate.Interface{i}}), path)
				require.True(t, says, "the applied connection does not tell")
			}
			require.True(t, found, "testdata/keys.yaml has no document with the key")
		})
	}
}

// tell describes the interfaces of a document by the connections of a plan alone.
func tell(want netstate.Document, p *Plan) netstate.Document {
	connections := map[string]profile.Settings{}
	for _, c := range p.Changes {
		connections[c.Iface] = c.After
	}
	var out netstate.Document
	for _, w := range want.Interfaces {
		i := netstate.Interface{Name: w.Name, Type: w.Type, State: netstate.StateUp}
		if w.MACVLAN != nil {
			i.MACVLAN = &netstate.MACVLAN{}
		}
		if w.MACVTAP != nil {
			i.MACVTAP = &netstate.MACVLAN{}
		}
		if w.MACSec != nil {
			i.MACSec = &netstate.MACSec{}
		}
		if w.Bridge != nil {
			i.Bridge = &netstate.Bridge{Options: &netstate.BridgeOptions{}}
		}
		for _, ip := range []struct{ from, to **netstate.IP }{{&w.IPv4, &i.IPv4}, {&w.IPv6, &i.IPv6}} {
			if *ip.from != nil {
				*ip.to = &netstate.IP{Enabled: (*ip.from).Enabled, DHCP: (*ip.from).DHCP}
			}
		}
		if w.Bond != nil {
			i.Bond = &netstate.Bond{Mode: w.Bond.Mode, Ports: w.Bond.Ports}
			for _, port := range w.Bond.Ports {
				i.Bond.PortsConfig = append(i.Bond.PortsConfig, observe.Member(port, connections[port]))
			}
		}
		if s, ok := connections[w.Name]; ok {
			observe.Complete(&i, s)
		}
		out.Interfaces = append(out.Interfaces, i)
	}
	return out
}

func decoded(t *testing.T, d netstate.Document) any {
	t.Helper()
	var out any
	require.NoError(t, yaml.Unmarshal(must(d.Encode()), &out))
	return out
}
