package review

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
)

func policyOf(t testing.TB, spec string) *nmstatev1.NodeNetworkConfigurationPolicy {
	t.Helper()
	p := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &p.Spec))
	return p
}

func TestCheckNamesThePath(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"nothing": {`{}`, nil},
		"right":   {`desiredState: {interfaces: [{name: eth1, type: ethernet, mtu: 9000}]}`, nil},
		"key":     {`desiredState: {interfaces: [{name: eth1, mtuu: 9000}]}`, []string{"spec.desiredState.interfaces[eth1].mtuu: "}},
		"type":    {`desiredState: {interfaces: [{name: eth1, mtu: big}]}`, []string{"spec.desiredState.interfaces[eth1].mtu: "}},
		"ephemeral": {`{persistence: Ephemeral, desiredState: {hostname: {running: a, config: a}, ovs-db: {external_ids: {rack: seven}}}}`,
			[]string{"spec.desiredState.hostname.config: an ephemeral change", "spec.desiredState.ovs-db: an ephemeral change"}},
		"no keys":   {`desiredState: []`, []string{"spec.desiredState: the document has to be a set of keys"}},
		"two of it": {`desiredState: {interfaces: [{name: a, mtuu: 1}, {name: b, ipv4: {enabledd: true}}]}`, []string{"interfaces[a].mtuu", "interfaces[b].ipv4.enabledd"}},
		"meaning": {`desiredState: {interfaces: [{name: eth1, type: ethernet, mtu: 12}], dns-resolver: {config: {options: [rotat]}}}`,
			[]string{"spec.desiredState.interfaces[eth1]", "spec.desiredState.dns-resolver.config.options: "}},
		"captures": {`capture: {a: 'interfaces.name ==', b: 'interfaces.name == "x" y', c: interfaces}`,
			[]string{"spec.capture[a]: line 1, column 19: ", "spec.capture[b]: line 1, column 24: "}},
		"missing capture": {`capture: {a: 'capture.b | interfaces.name == "x"'}`, []string{`spec.capture[a]: line 1, column 1: there is no capture "b"`}},
		"loop": {`capture: {a: 'capture.b | interfaces.name == "x"', b: 'capture.a | interfaces.name == "x"'}`,
			[]string{"captures that need each other have no value"}},
		"template of a capture": {`{capture: {base: interfaces}, desiredState: {interfaces: [{name: "{{ capture.base.interfaces.0.name }}", type: ethernet, mtu: "{{ capture.bas.x }}"}]}}`,
			[]string{`spec.desiredState.interfaces[{{ capture.base.interfaces.0.name }}].mtu: "capture.bas.x" does not begin with the name of a capture`}},
		"open template": {`desiredState: {interfaces: [{name: eth1, mtu: "{{ values.x"}]}`, []string{"interfaces[eth1].mtu: a template that begins with {{ has no end"}},
		"unknown value": {`desiredState: {routes: {config: [{destination: "{{ values.net }}", next-hop-interface: eth1}]}}`,
			[]string{`spec.desiredState.routes.config[0].destination: spec.templateValues has no value "net"`}},
		"key template": {`desiredState: {interfaces: [{name: eth1, "{{ x }}": 1}]}`, []string{"a key cannot be a template"}},
		"selector":     {`machineConfigPoolSelector: {matchExpressions: [{key: a, operator: Near}]}`, []string{"spec.machineConfigPoolSelector: "}},
	} {
		t.Run(name, func(t *testing.T) {
			found := Check(policyOf(t, c.spec))
			require.GreaterOrEqual(t, len(found), len(c.want), "%s", found)
			if len(c.want) == 0 {
				require.Empty(t, found)
			}
			for _, want := range c.want {
				require.Contains(t, found.Error(), want)
			}
		})
	}
}

// TestWhatOnlyANodeKnowsIsAdmitted: an entry with a template is not refused for what the template leaves out, others are.
func TestWhatOnlyANodeKnowsIsAdmitted(t *testing.T) {
	spec := `
templateValues:
- {name: ip, address: {namespace: default, pool: storage}}
- {name: mtu, label: mtu}
- {name: state, label: state}
capture: {base: interfaces}
desiredState:
  interfaces:
  - {name: "eth{{ values.mtu }}", type: ethernet, mtu: "{{ values.mtu }}"}
  - name: eth2
    type: ethernet
    ipv4: {enabled: true, dhcp: false, address: [{ip: "{{ values.ip }}", prefix-length: "{{ values.ip-prefix }}"}]}
  - {name: eth3, state: "{{ values.state }}", anything: 1}
  - {name: br1, type: linux-bridge, ipv4: "{{ capture.base.interfaces.0.ipv4 }}", bridge: {port: [{name: "{{ capture.base.interfaces.0.name }}"}]}}
  - {name: eth4, type: ethernet, mtu: %s}
  routes: {config: [{destination: 0.0.0.0/0, next-hop-interface: eth2, next-hop-address: "{{ values.ip-gateway }}"}]}
  dns-resolver: {config: {server: ["{{ values.ip-gateway }}"]}}
`
	require.Empty(t, Check(policyOf(t, fmt.Sprintf(spec, "1500"))))
	found := Check(policyOf(t, fmt.Sprintf(spec, "12")))
	require.Len(t, found, 1)
	require.Contains(t, found.Error(), "spec.desiredState.interfaces[eth4]")
}

// TestHostileSizes are refused, and what is said of them stays short.
func TestHostileSizes(t *testing.T) {
	many := policyOf(t, `desiredState: {interfaces: [`+strings.Repeat(`{name: a, nonsense: 1},`, 5000)+`]}`)
	found := Check(many)
	require.Len(t, found, MaxProblems)
	require.Less(t, len(found.Error()), MaxProblems*(maxReason+200))

	routes := policyOf(t, `desiredState: {routes: {config: [`+strings.Repeat(`{destination: "::/0"},`, 20_001)+`]}}`)
	require.Contains(t, Check(routes).Error(), "spec.desiredState.routes.config: 20001 entries")

	large := policyOf(t, `{}`)
	large.Spec.DesiredState = policyOf(t, `desiredState: {interfaces: []}`).Spec.DesiredState
	large.Spec.DesiredState.Raw = append(large.Spec.DesiredState.Raw, strings.Repeat(" ", 1<<20)...)
	require.Contains(t, Check(large).Error(), "are the most that is taken")

	captures := policyOf(t, `{}`)
	captures.Spec.Capture = map[string]string{}
	for i := range 101 {
		captures.Spec.Capture[fmt.Sprint("c", i)] = "interfaces"
	}
	require.Contains(t, Check(captures).Error(), "spec.capture: 101 captures")
	long := policyOf(t, `{}`)
	long.Spec.Capture = map[string]string{"a": strings.Repeat("x", 1<<20)}
	require.Contains(t, Check(long).Error(), "spec.capture[a]: line 1, column 1: the expression is longer")
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"interfaces":[{"name":"{{ values.a }}","mtu":"{{ capture.b.c }}"}],"routes":{"config":[null]}}`, `interfaces.name == "a"`)
	f.Add(`{"interfaces":"{{ capture.base.interfaces }}","dns-resolver":{"config":{"server":["{{"]}}}`, `capture.base | interfaces.x := null`)
	f.Fuzz(func(t *testing.T, document, capture string) {
		p := &nmstatev1.NodeNetworkConfigurationPolicy{}
		p.Spec.DesiredState = policyOf(t, `desiredState: {}`).Spec.DesiredState
		p.Spec.DesiredState.Raw = []byte(document)
		p.Spec.Capture = map[string]string{"base": capture}
		require.LessOrEqual(t, len(Check(p)), MaxProblems)
	})
}
