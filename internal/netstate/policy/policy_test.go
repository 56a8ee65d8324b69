package policy

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// node is a node with an uplink by DHCP, a described card and a bridge.
const node = `
dns-resolver: {running: {server: [192.0.2.53], search: [example.net]}, config: {}}
routes:
  running:
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, metric: 100, table-id: 254}
  - {destination: 198.51.100.0/24, next-hop-interface: eno1, next-hop-address: 192.0.2.7, table-id: 254}
  - {destination: 203.0.113.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254}
  config:
  - {destination: 203.0.113.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254}
interfaces:
- name: eno1
  type: ethernet
  state: up
  description: primary
  driver: igb
  mac-address: 52:54:00:AA:00:01
  ipv4: {enabled: true, dhcp: true, auto-dns: true, auto-gateway: true, auto-routes: true, address: [{ip: 192.0.2.10, prefix-length: 24, valid-life-time: 3000sec, preferred-life-time: 3000sec}]}
  ipv6: {enabled: false}
- name: eno2
  type: ethernet
  state: up
  description: secondary
  driver: tg3
  mac-address: 52:54:00:AA:00:02
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.0.0.2, prefix-length: 24}]}
  ipv6: {enabled: false}
- {name: eno3, type: ethernet, state: down, driver: virtio_net, mac-address: 52:54:00:AA:00:03, ipv4: {enabled: false}, ipv6: {enabled: false}}
- {name: br7, type: linux-bridge, state: up, bridge: {port: []}, ipv4: {enabled: false}, ipv6: {enabled: false}}
`

func current(t testing.TB) netstate.Document {
	d, err := netstate.Decode([]byte(node))
	require.NoError(t, err)
	return d
}

func TestResolve(t *testing.T) {
	for name, c := range map[string]struct{ policy, want string }{
		"a bridge takes over the interface of the default route": {`
capture:
  bridge-routes: capture.base-routes | routes.running.next-hop-interface := "br1"
  base-routes: routes.running.next-hop-interface == capture.base.interfaces.0.name
  base: interfaces.name == capture.gw.routes.running.0.next-hop-interface
  gw: routes.running.destination == "0.0.0.0/0"
desiredState:
  interfaces:
  - name: br1
    type: linux-bridge
    state: up
    mac-address: "{{ capture.base.interfaces.0.mac-address }}"
    ipv4: "{{ capture.base.interfaces.0.ipv4 }}"
    bridge: {port: [{name: "{{ capture.base.interfaces.0.name }}"}]}
`, `
interfaces:
- {name: br1, type: linux-bridge, state: up, mac-address: 52:54:00:AA:00:01, bridge: {port: [{name: eno1}]},
   ipv4: {enabled: true, dhcp: true, address: [], auto-dns: true, auto-gateway: true, auto-routes: true}}
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: false}}
`},
		"leased addresses become configured ones": {`
capture:
  nic: interfaces.name == "eno1"
  routes: routes.running.next-hop-interface == "eno1"
  dns: dns-resolver.running
desiredState:
  interfaces:
  - {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: "{{ capture.nic.interfaces.0.ipv4.address.0.ip }}", prefix-length: 24}]}}
  routes: {config: "{{ capture.routes.routes.running }}"}
  dns-resolver: {config: "{{ capture.dns.dns-resolver.running }}"}
`, `
dns-resolver: {config: {server: [192.0.2.53], search: [example.net]}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, metric: 100, table-id: 254}
  - {destination: 198.51.100.0/24, next-hop-interface: eno1, next-hop-address: 192.0.2.7, table-id: 254}
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.10, prefix-length: 24}]}}
`},
		"cards by description, ports of a bond inside a bridge": {`
capture: {a: interfaces.description == "primary", b: interfaces.description == "secondary"}
desiredState:
  interfaces:
  - {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: ["{{ capture.a.interfaces.0.name }}", "{{ capture.b.interfaces.0.name }}"]},
     description: "over {{ capture.a.interfaces.0.name }} and {{capture.b.interfaces.0.name}}"}
`, `
interfaces:
- {name: bond0, type: bond, state: up, description: over eno1 and eno2, link-aggregation: {mode: active-backup, port: [eno1, eno2]}}
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: false}}
- {name: eno2, type: ethernet, state: up, ipv4: {enabled: false}}
routes: {config: [{destination: 203.0.113.0/24, next-hop-interface: eno2, next-hop-address: 10.0.0.1, table-id: 254, state: absent}]}
`},
		"every bridge down": {`
capture:
  bridges: interfaces.type=="linux-bridge"
  down: capture.bridges | interfaces.state:="down"
desiredState: {interfaces: "{{ capture.down.interfaces }}"}
`, `interfaces: [{name: br7, type: linux-bridge, state: down}]`},
		"what is down comes up; by the driver; lldp": {`
capture:
  cards: interfaces.driver =~ "^igb$|^tg.*$"
  told: capture.cards | interfaces.lldp.enabled := true
desiredState: {interfaces: "{{ capture.told.interfaces }}"}
`, `
interfaces:
- {name: eno1, type: ethernet, state: up, lldp: {enabled: true}}
- {name: eno2, type: ethernet, state: up, lldp: {enabled: true}}
`},
		"by MAC address, in any case": {`
capture: {nic: interfaces.mac-address == "52:54:00:aa:00:03"}
desiredState: {interfaces: [{name: "{{ capture.nic.interfaces.0.name }}", type: ethernet, state: up, mtu: 9000}]}
`, `interfaces: [{name: eno3, type: ethernet, state: up, mtu: 9000}]`},
		"deletion of a property; an address within a list": {`
capture:
  nic: interfaces.ipv4.address.ip == 10.0.0.2
  plain: capture.nic | interfaces.description := null
desiredState: {interfaces: [{name: "{{ capture.plain.interfaces.0.name }}", type: ethernet, mtu: 1400}]}
`, `interfaces: [{name: eno2, type: ethernet, state: up, mtu: 1400}]`},
		"a capture without a pipe, as nmstate's examples have it": {`
capture:
  nics: interfaces.type == "ethernet"
  nic: capture.nics.interfaces.mac-address == "52:54:00:AA:00:03"
  up: capture.nic.interfaces.state := "up"
desiredState: {interfaces: "{{ capture.up.interfaces }}"}
`, `interfaces: [{name: eno3, type: ethernet, state: up}]`},
		"what is in place leaves nothing": {`
capture: {all: interfaces.type == ethernet}
desiredState: {interfaces: "{{ capture.all.interfaces }}"}
`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Read([]byte(c.policy))
			require.NoError(t, err)
			require.NoError(t, Check(p))
			got, err := Resolve(p, current(t), nil)
			require.NoError(t, err)
			want, err := netstate.Decode([]byte(c.want))
			require.NoError(t, err)
			require.Equal(t, text(t, want.Canonical()), text(t, got.Desired.Canonical()))
			require.Len(t, got.Captured, len(p.Captures))
		})
	}
}

func text(t testing.TB, d netstate.Document) string {
	out, err := d.Encode()
	require.NoError(t, err)
	return string(out)
}

// Once the bridge has the default route, the capture must still mean the card.
func TestWhatWasCapturedOnceIsWhatItMeans(t *testing.T) {
	p := Policy{
		Captures: map[string]string{"gw": "override (me)", "nic": "interfaces.name == capture.gw.routes.running.0.next-hop-interface"},
		Desired:  []byte(`interfaces: [{name: "{{ capture.nic.interfaces.0.name }}", type: ethernet, mtu: 9000}]`),
	}
	got, err := Resolve(p, current(t), map[string]string{"gw": "routes: {running: [{destination: 0.0.0.0/0, next-hop-interface: eno2}]}"})
	require.NoError(t, err)
	require.Equal(t, "eno2", got.Desired.Interfaces[0].Name)
	again, err := Resolve(p, netstate.Document{}, got.Captured)
	require.NoError(t, err)
	require.Equal(t, "eno2", again.Desired.Interfaces[0].Name)
}

func TestWithoutCapturesTheDocumentIsTheDocument(t *testing.T) {
	got, err := Resolve(Policy{Desired: []byte("interfaces: [{name: eno1, type: ethernet, description: '{{ no template }}'}]")}, current(t), nil)
	require.NoError(t, err)
	require.Equal(t, "{{ no template }}", *got.Desired.Interfaces[0].Description)
}

func TestErrorsSayWhere(t *testing.T) {
	for name, c := range map[string]struct {
		captures, desired, want string
	}{
		"no operator":       {`{a: interfaces.name eno1}`, "", `capture a, line 1, column 17: expected ==, := or =~, not "eno1"`},
		"no value":          {`{a: interfaces.name ==}`, "", "capture a, line 1, column 19: expected a value, not the end"},
		"two operators":     {`{a: interfaces.name == x == y}`, "", `capture a, line 1, column 22: expected the end, not "=="`},
		"two pipes":         {`{b: interfaces.name == x, a: capture.b | capture.b | interfaces.name == y}`, "", "capture a, line 1, column 13: a capture is read as capture.NAME | path"},
		"pipe of a path":    {`{a: interfaces | interfaces.name == x}`, "", `capture a, line 1, column 12: before a pipe stands capture.NAME, not "interfaces"`},
		"open quote":        {`{a: 'interfaces.name == "x'}`, "", "capture a, line 1, column 20: the quote is never closed"},
		"strange letter":    {`{a: interfaces.name == $x}`, "", "capture a, line 1, column 20: '$' has no meaning here"},
		"empty step":        {`{a: interfaces..name == x}`, "", `column 1: the path "interfaces..name" has an empty part`},
		"a list alone":      {`{a: interfaces == x}`, "", "needs a path to a property"},
		"unknown capture":   {`{a: interfaces.name == capture.b.interfaces.0.name}`, "", `capture a, line 1, column 20: there is no capture "b"`},
		"second line":       {"{a: \"interfaces.name ==\\n capture.b.x\"}", "", `capture a, line 2, column 2: there is no capture "b"`},
		"a cycle":           {`{a: interfaces.name == capture.b.x.0, b: interfaces.name == capture.a.x.0}`, "", "need each other have no value: a -> b -> a"},
		"itself":            {`{a: interfaces.name == capture.a.x.0}`, "", "a -> a"},
		"a bad name":        {`{"a b": interfaces.name == x}`, "", "a name consists of letters"},
		"a bad expression":  {`{a: 'interfaces.name =~ "("'}`, "", "not a regular expression"},
		"nothing there":     {`{a: ovn.bridge-mappings}`, "", `capture a, line 1, column 1: there is nothing at "ovn.bridge-mappings"`},
		"nothing selected":  {`{a: interfaces.name == nobody}`, "interfaces:\n- name: '{{ capture.a.interfaces.0.name }}'", "desiredState, line 2, column 9: capture.a.interfaces has no item 0"},
		"no such property":  {`{a: interfaces.name == eno1}`, "x: '{{ capture.a.interfaces.0.mtu }}'", `has no "mtu"`},
		"not a number":      {`{a: interfaces.name == eno1}`, "x: '{{ capture.a.interfaces.eno1 }}'", "is a list; pick an item by its number"},
		"into a scalar":     {`{a: interfaces.name == eno1}`, "x: '{{ capture.a.interfaces.0.name.x }}'", "is a plain value"},
		"object in a text":  {`{a: interfaces.name == eno1}`, "x: 'an {{ capture.a.interfaces.0.ipv4 }}'", "cannot stand within a text"},
		"never ends":        {`{a: interfaces.name == eno1}`, "x: '{{ capture.a'", "desiredState, line 1, column 4: a template that begins with {{ has no end"},
		"a key":             {`{a: interfaces.name == eno1}`, "'{{ capture.a.x }}': 1", "a key cannot be a template"},
		"no capture":        {`{a: interfaces.name == eno1}`, "x: '{{ name }}'", "begins with capture.NAME"},
		"wrong once filled": {`{a: interfaces.name == eno1}`, "interfaces: '{{ capture.a.interfaces.0.name }}'", "the desired state with the captures filled in"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Read([]byte("capture: " + c.captures))
			require.NoError(t, err)
			p.Desired = []byte(c.desired)
			_, err = Resolve(p, current(t), nil)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestReadTakesAManifest(t *testing.T) {
	p, err := Read([]byte("kind: NodeNetworkConfigurationPolicy\nmetadata: {name: p}\nspec: {capture: {a: interfaces.name == x}, desiredState: {interfaces: []}}"))
	require.NoError(t, err)
	require.Equal(t, "interfaces.name == x", p.Captures["a"])
	require.Equal(t, "{interfaces: []}\n", string(p.Desired))
	_, err = Read([]byte("interfaces: []"))
	require.ErrorIs(t, err, ErrNoPolicy)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "dns-resolver.running", `interfaces.name == "a"`, "capture.a | interfaces.state := down", `interfaces.driver =~ "^x$"`, "a.b:=null", "\u00a0a.b==c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := Parse(s)
		if at := (*Error)(nil); err != nil && (!errors.As(err, &at) || at.Line < 1 || at.Column < 1) {
			t.Fatalf("%q: error without a place: %v", s, err)
		}
		if err != nil || len(x.referencedCaptures()) > 0 {
			return
		}
		e := &evaluation{captured: map[string]any{}}
		if e.loadState(netstate.Document{Interfaces: []netstate.Interface{{Name: "a", Type: "ethernet"}}}) == nil {
			_, _ = e.evaluateExpression("a", x)
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("interfaces.name == eno1", "interfaces: '{{ capture.a.interfaces }}'")
	f.Add("interfaces.type == ethernet", "x: &a [*a]")
	f.Fuzz(func(_ *testing.T, capture, desired string) {
		d, err := netstate.Decode([]byte(node))
		if err != nil {
			panic(err)
		}
		p := Policy{Captures: map[string]string{"a": capture}, Desired: []byte(desired)}
		_ = Check(p)
		_, _ = Resolve(p, d, nil)
	})
}

func BenchmarkResolveOver2000Interfaces(b *testing.B) {
	d := current(b)
	for len(d.Interfaces) < 2000 {
		i := d.Interfaces[1]
		i.Name = "v" + string(rune('a'+len(d.Interfaces)%26)) + string(rune('a'+len(d.Interfaces)/26%26)) + string(rune('a'+len(d.Interfaces)/676))
		d.Interfaces = append(d.Interfaces, i)
	}
	text, err := os.ReadFile("testdata/bridge.yaml")
	require.NoError(b, err)
	p, err := Read(text)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := Resolve(p, d, nil); err != nil {
			b.Fatal(err)
		}
	}
}
