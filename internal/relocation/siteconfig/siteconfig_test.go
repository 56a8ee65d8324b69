package siteconfig_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const header = "apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\n"

func decode(t *testing.T, text string) siteconfig.SiteConfig {
	t.Helper()
	c, problems := siteconfig.Decode([]byte(text))
	require.Empty(t, problems)
	return c
}

func TestAFullFileIsRead(t *testing.T) {
	text, err := os.ReadFile("full.yaml")
	require.NoError(t, err)
	c := decode(t, string(text))
	require.Equal(t, "site-1.edge.example.org", c.ClusterDomain())
	require.Equal(t, "192.0.2.10", c.Network.Interfaces[0].IPv4.Addresses[0].IP)
	require.Equal(t, "007", c.NodeLabels["example.org/shelf"], "a text is what was written")
	require.Contains(t, c.PullSecret.Reveal(), "registry.site.example.org")
	require.Len(t, c.Manifests, 1)
	kubeconfig, password := c.Handover.Includes()
	require.True(t, kubeconfig)
	require.False(t, password)
}

func TestProblems(t *testing.T) {
	for name, k := range map[string]struct {
		text string
		want []string
	}{
		"empty":            {"", []string{"the file is empty; write apiVersion: relocation.lca.openshift.io/v1 and kind: SiteConfig first"}},
		"no kind":          {"hostname: a\n", []string{"kind: must be SiteConfig (or ClusterRelocation, or a manifest.json with api_version)"}},
		"another version":  {"apiVersion: v2\nkind: SiteConfig\n", []string{`line 1: apiVersion: "v2": must be relocation.lca.openshift.io/v1`}},
		"not YAML":         {header + "a: b: c\n", []string{"the file is not YAML: line 3: mapping values are not allowed in this context"}},
		"two documents":    {header + "---\n" + header, []string{"the file holds more than one document; keep one, and remove the --- lines"}},
		"a list":           {"- a\n", []string{"a list: the file must be a list of keys with values, such as hostname: site-1"}},
		"alias":            {header + "hostname: &a b\nclusterName: *a\n", []string{"line 4: *a: a YAML alias is not supported; write the value out"}},
		"binary":           {"\x00\x01", []string{"the file is not plain text; save it as UTF-8 text (not as a document of a word processor)"}},
		"large":            {strings.Repeat("a", siteconfig.MaxSize+1), []string{"the file is 4194305 bytes long; at most 4194304 are read"}},
		"deep":             {header + "manifests: " + strings.Repeat("[", 80) + strings.Repeat("]", 80), []string{"line 3: the file is nested deeper than 64 levels"}},
		"misspelt":         {header + "hostName: a\n", []string{"line 3: hostName: is not a known key; did you mean hostname?"}},
		"twice":            {header + "hostname: a\nhostname: b\n", []string{`line 4: hostname: "hostname": appears twice; keep one`}},
		"key in a key":     {header + "nodeLabels: {[a]: b}\n", []string{"line 3: nodeLabels: a list: a key must be a word"}},
		"key as key":       {header + "? |\n  -----BEGIN PRIVATE KEY-----\n: b\n", []string{"line 3: [hidden]: is not a known key"}},
		"secret of a list": {header + "pullSecret: [hunter2]\n", []string{"line 3: pullSecret: [hidden]: must be a single value, not a list or a group"}},
		"all at once": {header + "hostname: Site_1\nmachineNetworks: [192.0.2.1/24, 198.51.100.0/24, x]\nnodeIPs: [192.0.2.300]\nnoo: 1\n", []string{
			`line 6: noo: is not a known key; known here: `,
			`line 3: hostname: "Site_1": must be lower-case letters, digits, hyphens and dots, at most 63, such as site-1`,
			`line 4: machineNetworks[0]: "192.0.2.1/24": must be a network, not an address in it; it would be 192.0.2.0/24`,
			`line 4: machineNetworks[2]: "x": must be a network, such as 192.0.2.0/24 or 2001:db8::/64`,
			`line 5: nodeIPs[0]: "192.0.2.300": must be an IP address, such as 192.0.2.10`,
		}},
		"localhost":        {header + "hostname: localhost.localdomain\n", []string{`hostname: "localhost.localdomain": must not be localhost`}},
		"outside":          {header + "machineNetworks: [192.0.2.0/24]\nnodeIPs: [198.51.100.1]\n", []string{`nodeIPs[0]: "198.51.100.1": must lie in one of machineNetworks (192.0.2.0/24)`}},
		"pull secret":      {header + "pullSecret: hunter2\n", []string{`pullSecret: [hidden]: must be the text of a pull secret`}},
		"pull secret auth": {header + `pullSecret: '{"auths":{"r.example.org":{"auth":"aHVudGVyMg=="}}}'` + "\n", []string{`pullSecret: [hidden]: the auth of "r.example.org" must be user:password in base64`}},
		"mirror":           {header + "imageTagMirrors:\n- {source: 'quay.io/a:tag', mirrors: []}\n", []string{`imageTagMirrors[0].source: "quay.io/a:tag"`, "imageTagMirrors[0].mirrors: must name at least one"}},
		"key for cert":     {header + "additionalTrust:\n  userCABundle: |\n    -----BEGIN PRIVATE KEY-----\n    aHVudGVyMg==\n    -----END PRIVATE KEY-----\n", []string{`line 4: additionalTrust.userCABundle: "[hidden]": must be certificates in PEM`}},
		"hub":              {header + "hub: {url: 'http://hub', token: hunter2}\n", []string{`hub.url: "http://hub": must be the URL of the hub's API`}},
		"hub both":         {header + "hub: {url: 'https://hub', token: hunter2, secretRef: {name: a}}\n", []string{"hub: must have exactly one of token, secretRef and importManifests"}},
		"traversal":        {header + "connections: [{name: ../../etc/passwd, content: '[connection]'}]\n", []string{`connections[0].name: "../../etc/passwd": must be the name of a file that ends in .nmconnection, without a folder`}},
		"network": {header + "network:\n  interfaces:\n  - {name: eno1, ipv4: {enabled: true, address: [{ip: 192.0.2.400, prefix-length: 24}]}}\n", []string{
			`line 5: network.interfaces[eno1].ipv4.address: address "192.0.2.400" is not an IP address`}},
		"network by line": {header + "network:\n  interfaces:\n  - name: eno1\n    type: ethernet\n    ipv4:\n      enabled: perhaps\n    mtuu: 9\n" +
			"  - name: eno1.12\n    type: vlan\n    vlan:\n      base-iface: eno1\n      id: 9999\n  foo: 1\n", []string{
			`line 8: network.interfaces[eno1].ipv4.enabled: "perhaps"`, `line 9: network.interfaces[eno1].mtuu: `, `line 15: network.foo: `}},
		"network by line, valid keys": {header + "network:\n  interfaces:\n  - name: eno1.12\n    type: vlan\n    vlan:\n      base-iface: eno1\n      id: 9999\n" +
			"  routes:\n    config:\n    - destination: x\n      next-hop-interface: eno1.12\n", []string{
			`line 9: network.interfaces[eno1.12].vlan.id: VLAN id 9999`, `line 12: network.routes.config[0]`}},
		"network as text": {header + "network: |\n  interfaces:\n  - name: eno1\n    type: ethernet\n    mtuu: 9\n", []string{
			`line 7: network.interfaces[eno1].mtuu: `}},
		"network elsewhere": {header + "machineNetworks: [198.51.100.0/24]\nnetwork:\n  interfaces:\n  - {name: eno1, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.4, prefix-length: 24}]}}\n", []string{
			`machineNetworks[0]: "198.51.100.0/24": must hold an address of network, which has 192.0.2.4/24`}},
		"SSH private key": {header + "sshKeys: ['-----BEGIN OPENSSH PRIVATE KEY----- hunter2']\n", []string{`sshKeys[0]: [hidden]: is a private key`}},
		"label":           {header + "nodeLabels: {'a b': c}\n", []string{`nodeLabels.a b: "a b": must be the name of a label`}},
		"manifest":        {header + "manifests: [{kind: Pod}]\n", []string{`manifests[0]: "Pod": must be an object with apiVersion, kind and metadata.name`}},
		"proxy password":  {header + "proxy: {httpProxy: 'ftp://u:hunter2@p'}\n", []string{`proxy.httpProxy: [hidden]: must be the URL of a proxy`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := siteconfig.Decode([]byte(k.text))
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
				require.NotContains(t, p.String(), "hunter2")
				require.NotContains(t, p.String(), "aHVudGVyMg")
			}
			require.Len(t, got, len(k.want), "%q", got)
			for i, w := range k.want {
				require.Contains(t, got[i], w)
			}
		})
	}
}

func TestTextOfOtherSystems(t *testing.T) {
	text := strings.ReplaceAll(header+"hostname: site-1\nchronyConfig: |\n  a\n  b\n", "\n", "\r\n")
	wide := func(order binary.AppendByteOrder, mark ...byte) string {
		for _, u := range utf16.Encode([]rune(text)) {
			mark = order.AppendUint16(mark, u)
		}
		return string(mark)
	}
	for name, in := range map[string]string{
		"CRLF": text, "BOM": "\xef\xbb\xbf" + text,
		"UTF-16LE": wide(binary.LittleEndian, 0xff, 0xfe), "UTF-16BE": wide(binary.BigEndian, 0xfe, 0xff),
	} {
		t.Run(name, func(t *testing.T) {
			c := decode(t, in)
			require.Equal(t, "site-1", c.Hostname)
			require.Equal(t, "a\nb\n", c.ChronyConfig)
		})
	}
}

func TestASecretIsNotPrinted(t *testing.T) {
	c := decode(t, header+`pullSecret: {"auths":{"r.example.org":{"auth":"dTpodW50ZXIy"}}}`)
	require.Contains(t, c.PullSecret.Reveal(), "dTpodW50ZXIy", "an object pasted without quotes is taken as its text")
	var out strings.Builder
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "secret", c.PullSecret, "all", c)
	for _, verb := range []string{"%v", "%+v", "%s", "%q", "%#v", "%x", "%d"} {
		fmt.Fprintf(&out, verb, c.PullSecret)
		fmt.Fprintf(&out, verb, c)
	}
	require.NotContains(t, out.String(), "dTpodW50ZXIy")
	require.NotContains(t, out.String(), "64547064", "hexadecimal")
	require.Contains(t, out.String(), "[hidden]")
}

func TestExamplesAreRight(t *testing.T) {
	for _, full := range []bool{false, true} {
		decode(t, siteconfig.Example(full))
	}
}

// The schema names the keys that the decoder knows: what it lists for the full example is all accepted, and nothing else.
func TestTheSchemaFollowsTheType(t *testing.T) {
	var s struct {
		Properties map[string]any `json:"properties"`
	}
	require.NoError(t, json.Unmarshal([]byte(siteconfig.Schema()), &s))
	for key := range s.Properties {
		_, problems := siteconfig.Decode([]byte(header + key + ":\n"))
		for _, p := range problems {
			require.NotContains(t, p.Want, "is not a known key")
		}
	}
	_, problems := siteconfig.Decode([]byte(header + "nothing:\n"))
	require.Len(t, problems, 1)
	known := strings.Split(strings.SplitN(problems[0].Want, "known here: ", 2)[1], ", ")
	require.Len(t, s.Properties, len(known))
}
