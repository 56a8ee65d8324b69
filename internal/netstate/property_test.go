package netstate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whole states, made at random: those of a node, so that what a document of them says is possible.
type maker struct{ *rand.Rand }

func (m maker) maybe() bool { return m.IntN(2) == 0 }

func (m maker) state() Document {
	d := Document{Routes: &Routes{Config: []Route{}}, RouteRules: &RouteRules{}, DNS: &DNS{Config: &Resolver{}}}
	ports := []string{}
	for n := range 5 { // cards neither come nor go
		i := Interface{Name: fmt.Sprintf("eno%d", n), Type: TypeEthernet, State: StateUp, MTU: 1500 + 100*m.IntN(3)}
		if n > 1 && m.maybe() {
			i.IPv4, i.IPv6 = Disabled(), Disabled()
			ports = append(ports, i.Name)
		} else {
			m.addresses(&i, n)
		}
		d.Interfaces = append(d.Interfaces, i)
	}
	m.virtual(&d, ports)
	for _, i := range d.Interfaces {
		m.routes(&d, i)
	}
	for n := range m.IntN(3) {
		d.RouteRules.Config = append(d.RouteRules.Config, RouteRule{IPFrom: new(fmt.Sprintf("198.51.%d.0/24", m.IntN(4))), Family: "ipv4",
			RouteTable: 100 + m.IntN(3), Priority: 1000 + n})
	}
	m.nodeWide(&d)
	for n := range m.IntN(3) {
		d.DNS.Config.Server = append(d.DNS.Config.Server, fmt.Sprintf("192.0.2.%d", 53+n+m.IntN(2)*10))
	}
	return d
}

// nodeWide: a node that runs has a name, and may have a stored one, too.
func (m maker) nodeWide(d *Document) {
	d.Hostname = &Hostname{Running: new(fmt.Sprint("node-", m.IntN(3)))}
	if m.maybe() {
		d.Hostname.Config = new(fmt.Sprint("node-", m.IntN(3)))
	}
	d.OVSDB = &OVSDB{ExternalIDs: m.columns(), OtherConfig: m.columns()}
	d.OVN = &OVN{}
	for n := range m.IntN(3) {
		d.OVN.BridgeMappings = append(d.OVN.BridgeMappings,
			BridgeMapping{Localnet: fmt.Sprint("net", n+m.IntN(2)*3), Bridge: fmt.Sprint("br-", m.IntN(2))})
	}
	if m.maybe() {
		d.DNS.Config.Options = []string{"rotate", fmt.Sprint("timeout:", 1+m.IntN(3))}
	}
	if m.maybe() {
		d.Routes.Config = append(d.Routes.Config, Route{Destination: fmt.Sprintf("198.18.%d.0/24", m.IntN(2)), TableID: MainTable,
			RouteType: []string{"blackhole", "unreachable", "prohibit"}[m.IntN(3)]})
	}
}

func (m maker) columns() map[string]*string {
	out := map[string]*string{}
	for n := range m.IntN(4) {
		out[fmt.Sprint("key", n)] = new(fmt.Sprint(m.IntN(3)))
	}
	return out
}

func (m maker) addresses(i *Interface, n int) {
	i.IPv4 = &IP{Enabled: new(true), DHCP: new(false), Addresses: []Address{}}
	i.IPv6 = &IP{Enabled: new(true), DHCP: new(false), Autoconf: new(false), Addresses: []Address{}}
	for k := range m.IntN(3) {
		i.IPv4.Addresses = append(i.IPv4.Addresses, Address{IP: fmt.Sprintf("10.%d.%d.%d", n, k, 1+m.IntN(200)), PrefixLength: 24})
		i.IPv6.Addresses = append(i.IPv6.Addresses, Address{IP: fmt.Sprintf("2001:db8:%x:%x::%x", n, k, 1+m.IntN(200)), PrefixLength: 64})
	}
	if m.IntN(4) == 0 {
		i.IPv6 = Disabled()
	}
	if m.IntN(5) == 0 {
		i.IPv4 = &IP{Enabled: new(true), DHCP: new(true), AutoDNS: new(true), AutoGateway: new(m.maybe()), AutoRoutes: new(true)}
	}
}

func (m maker) virtual(d *Document, ports []string) {
	if len(ports) > 0 && m.maybe() {
		b := Interface{Name: "bond0", Type: TypeBond, State: StateUp,
			Bond: &Bond{Mode: bondModes[1+2*m.IntN(2)], Options: Options{"miimon": fmt.Sprint(100 + m.IntN(2)*40)}, Ports: ports}}
		m.addresses(&b, 20)
		d.Interfaces = append(d.Interfaces, b)
	} else if len(ports) > 0 {
		br := Interface{Name: "br0", Type: TypeLinuxBridge, State: StateUp, Bridge: &Bridge{Options: &BridgeOptions{STP: &STP{Enabled: new(m.maybe())}}}}
		for _, p := range ports {
			br.Bridge.Ports = append(br.Bridge.Ports, BridgePort{Name: p, VLAN: &PortVLAN{Mode: "access", Tag: new(1 + m.IntN(3))}})
		}
		m.addresses(&br, 21)
		d.Interfaces = append(d.Interfaces, br)
	}
	if m.maybe() {
		v := Interface{Name: "eno0.7", Type: TypeVLAN, State: StateUp, VLAN: &VLAN{BaseIface: "eno0", ID: 7 + m.IntN(3)}}
		m.addresses(&v, 22)
		d.Interfaces = append(d.Interfaces, v)
	}
}

func (m maker) routes(d *Document, i Interface) {
	if i.IPv4 == nil || len(i.IPv4.Addresses) == 0 || m.maybe() {
		return
	}
	d.Routes.Config = append(d.Routes.Config, Route{Destination: fmt.Sprintf("203.0.%d.0/24", m.IntN(3)), NextHopInterface: i.Name,
		NextHopAddress: "10.99.0.1", Metric: 100 * m.IntN(3), TableID: MainTable,
		Source: []string{"", i.IPv4.Addresses[0].IP}[m.IntN(2)], CWND: 10 * m.IntN(3), Weight: m.IntN(3)})
}

// plain is a state as its meaning, for comparison.
func plainState(d Document) string {
	d = d.Canonical()
	for n, i := range d.Interfaces {
		i.Controller = nil
		for _, ip := range []**IP{&i.IPv4, &i.IPv6} {
			p := plainIP(*ip)
			*ip = &p
		}
		d.Interfaces[n] = i
	}
	if d.DNS == nil {
		d.DNS = &DNS{}
	}
	if d.DNS.Config == nil {
		d.DNS.Config = &Resolver{}
	}
	c := *d.DNS.Config
	c.Server, c.Search, c.Options = append([]string{}, c.Server...), append([]string{}, c.Search...), append([]string{}, c.Options...)
	d.DNS = &DNS{Config: &c}
	if h := d.Hostname; h != nil && textOf(h.Config) == "" {
		d.Hostname = &Hostname{Running: h.Running} // an empty stored name is none
	}
	if d.OVSDB != nil {
		d.OVSDB = d.OVSDB.canonical()
	}
	d.Routes = &Routes{Config: append([]Route{}, d.configRoutes()...)}
	d.RouteRules = &RouteRules{Config: append([]RouteRule{}, d.configRules()...)}
	out, err := d.Encode()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func forSeeds(t *testing.T, f func(t *testing.T, m maker)) {
	t.Helper()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { f(t, maker{rand.New(rand.NewPCG(seed, 1))}) })
	}
}

func TestApplyingTheTransitionGivesTheOtherState(t *testing.T) {
	forSeeds(t, func(t *testing.T, m maker) {
		a, b := m.state(), m.state()
		require.NoError(t, Validate(a))
		doc := Transition(a, b)
		require.NoError(t, Validate(doc))
		require.Equal(t, plainState(b), plainState(Merge(a, doc)))
		require.Equal(t, Document{}, Transition(b, Merge(a, doc)), "nothing is left to do")
	})
}

func TestApplyingTheDiffIsApplyingTheDocument(t *testing.T) {
	forSeeds(t, func(t *testing.T, m maker) {
		a, b := m.state(), m.state()
		require.Equal(t, plainState(Merge(a, b)), plainState(Merge(a, Diff(a, b))))
		require.Equal(t, Document{}, Diff(a, a), "what is in place has no diff")
		require.Equal(t, plainState(Merge(a, b)), plainState(Merge(Merge(a, b), b)), "applying twice is applying once")
	})
}

func TestRevertRestores(t *testing.T) {
	forSeeds(t, func(t *testing.T, m maker) {
		a, want := m.state(), m.state()
		after := Merge(a, want)
		back := Revert(want, a)
		require.NoError(t, Validate(back))
		require.Equal(t, plainState(a), plainState(Merge(after, back)))
	})
}

func TestVerifyAcceptsWhatMergeGives(t *testing.T) {
	forSeeds(t, func(t *testing.T, m maker) {
		a, want := m.state(), m.state()
		after := Merge(a, want)
		after.DNS.Running = after.DNS.Config
		require.Empty(t, Verify(want, after))
	})
}

func TestWhatIsWrittenReadsTheSame(t *testing.T) {
	forSeeds(t, func(t *testing.T, m maker) {
		a := m.state()
		text, err := a.Encode()
		require.NoError(t, err)
		again, err := Decode(text)
		require.NoError(t, err)
		require.Equal(t, plainState(a), plainState(again))
		twice, err := again.Encode()
		require.NoError(t, err)
		require.Equal(t, string(text), string(twice))
	})
}

func BenchmarkDiffOf2000Interfaces(b *testing.B) {
	var a Document
	for n := range 2000 {
		a.Interfaces = append(a.Interfaces, Interface{Name: fmt.Sprintf("v%d", n), Type: TypeVLAN, State: StateUp, MTU: 1500,
			VLAN: &VLAN{BaseIface: "eno1", ID: 1 + n}, IPv6: Disabled(),
			IPv4: &IP{Enabled: new(true), DHCP: new(false), Addresses: []Address{{IP: fmt.Sprintf("10.%d.%d.1", n/256, n%256), PrefixLength: 24}}}})
	}
	text, err := a.Encode()
	require.NoError(b, err)
	want := a
	want.Interfaces = append([]Interface(nil), a.Interfaces...)
	want.Interfaces[7].MTU = 9000
	for name, f := range map[string]func(){
		"decode":   func() { _, _ = Decode(text) },
		"encode":   func() { _, _ = a.Encode() },
		"validate": func() { _ = Validate(a) },
		"merge":    func() { Merge(a, want) },
		"diff":     func() { Diff(a, want) },
		"verify":   func() { Compare(want, a) },
		"revert":   func() { Revert(want, a) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}
