package plan

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/schema"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

//go:embed testdata/keys.yaml
var keyDocuments []byte

// judging are keys that change what is accepted afterwards, and no setting.
var judging = map[string]bool{"interfaces[].ipv4.allow-extra-address": true, "interfaces[].ipv6.allow-extra-address": true}

// A supported key changes what a document does: its plan differs from the plan of the same document without the key.
func TestEverySupportedKeyHasAnEffect(t *testing.T) {
	documents := splitDocuments(t)
	for _, k := range leaves() {
		if k.Support != keys.Full {
			continue
		}
		t.Run(k.Path, func(t *testing.T) {
			var tried []string
			for _, d := range documents {
				less, found := without(d, splitPath(k.Path))
				if !found {
					continue
				}
				with, err := outcome(d, k.Path)
				require.NoError(t, err, "a document with a supported key")
				if other, err := outcome(less, k.Path); err != nil || other != with {
					return
				}
				tried = append(tried, with)
			}
			require.NotEmpty(t, tried, "testdata/keys.yaml has no document with the key")
			t.Fatalf("%s is supported and has no effect", k.Path)
		})
	}
}

// leaves are the keys without keys of their own.
func leaves() []schema.Key {
	var out []schema.Key
	all := schema.Keys()
	for n, k := range all {
		if n+1 < len(all) && (strings.HasPrefix(all[n+1].Path, k.Path+".") || strings.HasPrefix(all[n+1].Path, k.Path+"[]")) {
			continue
		}
		out = append(out, k)
	}
	return out
}

func splitDocuments(t *testing.T) []map[string]any {
	t.Helper()
	var out []map[string]any
	for dec := yaml.NewDecoder(bytes.NewReader(keyDocuments)); ; {
		var d map[string]any
		err := dec.Decode(&d)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, d)
	}
}

// splitPath knows the one key that has a dot itself.
func splitPath(path string) []string {
	out := strings.Split(strings.Replace(path, "802.1x", "802,1x", 1), ".")
	for n := range out {
		out[n] = strings.Replace(out[n], "802,1x", "802.1x", 1)
	}
	return out
}

// without copies a document without the key, and says whether it had the key.
func without(from any, path []string) (any, bool) {
	if list, ok := from.([]any); ok {
		var out []any
		found := false
		for _, item := range list {
			less, had := without(item, path)
			out, found = append(out, less), found || had
		}
		return out, found
	}
	section, ok := from.(map[string]any)
	if !ok {
		return from, false
	}
	key := strings.TrimSuffix(path[0], "[]")
	out, found := map[string]any{}, false
	for k, v := range section {
		switch {
		case k != key:
			out[k] = v
		case len(path) == 1:
			found = true
		default:
			out[k], found = without(v, path[1:])
		}
	}
	return out, found
}

// outcome is what the plan of a document changes, as text.
func outcome(document any, key string) (string, error) {
	text, err := yaml.Marshal(document)
	if err != nil {
		return "", err
	}
	d, err := netstate.Decode(text)
	if err == nil {
		err = netstate.Validate(d)
	}
	if err != nil {
		return "", err
	}
	now, snap := effectNode()
	want, err := Resolve(d, now)
	if err != nil {
		return "", err
	}
	p, err := New(want, now, snap, false)
	if err != nil {
		return "", err
	}
	if judging[key] {
		return fmt.Sprint(netstate.Verify(want, now)), nil
	}
	return inWords(p), nil
}

func inWords(p *Plan) string {
	var out []string
	for _, c := range p.Changes {
		after := c.After.Clone()
		if c.Before == nil {
			after.Drop("connection", "uuid") // made at random
		}
		out = append(out, fmt.Sprintf("%s %d %v", c.sortKey(), c.Action, after))
	}
	text := strings.Join(out, "\n")
	for _, c := range p.Changes { // a profile of Open vSwitch names its controller by a UUID
		text = strings.ReplaceAll(text, c.UUID, "UUID of "+c.sortKey())
	}
	return text + fmt.Sprintf("\nglobal %+v node %v", p.Global, must(p.Node.Encode()))
}

// effectNode is a node with four cards.
func effectNode() (netstate.Document, *profile.Snapshot) {
	snap := node(func(s profile.Settings) {
		s.Set("ipv4", "routing-rules", []map[string]dbus.Variant{must(profile.RuleEntry(netstate.RouteRule{
			Family: "ipv4", IPFrom: new("192.0.2.128/25"), Priority: 5000, RouteTable: 200,
		}, netstate.IPv4))})
	})
	now := observed
	now.Interfaces = append([]netstate.Interface{}, observed.Interfaces...)
	for n := 2; n <= 4; n++ {
		name := fmt.Sprintf("eno%d", n)
		snap.Devices = append(snap.Devices, profile.Device{Path: dbus.ObjectPath("/d/" + name), Name: name, Kind: 1, State: 30})
		now.Interfaces = append(now.Interfaces, netstate.Interface{Name: name, Type: netstate.TypeEthernet, State: netstate.StateUp,
			MACAddress: fmt.Sprintf("02:00:00:00:00:0%d", n), MTU: 1500, IPv4: netstate.Disabled(), IPv6: netstate.Disabled()})
	}
	now.Interfaces[len(now.Interfaces)-2].Ethtool = capableCard() // eno3
	now.Hostname = &netstate.Hostname{Running: new("node-1"), Config: new("node-1")}
	now.OVSDB = &netstate.OVSDB{ExternalIDs: map[string]*string{"old": new("1")}}
	now.OVN = &netstate.OVN{BridgeMappings: []netstate.BridgeMapping{{Localnet: "former", Bridge: "br-ex"}}}
	now.Interfaces[0].IPv6 = &netstate.IP{Enabled: new(true), Addresses: []netstate.Address{{IP: "2001:db8::99", PrefixLength: 96}}}
	now.RouteRules = &netstate.RouteRules{Config: []netstate.RouteRule{
		{Family: "ipv4", IPFrom: new("192.0.2.128/25"), Priority: 5000, RouteTable: 200},
	}}
	return now, snap
}

// capableCard is a card whose driver knows every key of ethtool.
func capableCard() *netstate.Ethtool {
	out := &netstate.Ethtool{Features: map[string]bool{"rx-checksum": true, "tx-tcp-segmentation": false}}
	for _, r := range keys.In(keys.Links, netstate.TypeEthernet) {
		if field, ok := tree.At(&netstate.Interface{Ethtool: out}, r.Path, true); ok && r.Property.Setting == "ethtool" {
			field.Set(reflect.New(field.Type().Elem()))
		}
	}
	out.Ring.RXMax = new(4096)
	return out
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
