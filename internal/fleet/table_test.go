package fleet_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet"
)

const good = `cluster,canary,ipv4Address,ipv4MachineNetwork,ipv4Gateway,dnsServers,vlanID
site-001,yes,192.0.2.10,192.0.2.0/24,192.0.2.1,192.0.2.53 198.51.100.53,100
site-002,,198.51.100.10,198.51.100.0/24,198.51.100.1,192.0.2.53,0
`

const vlanTemplate = `apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata:
  name: storage
spec:
  desiredState:
    interfaces:
    - name: eno2.${storageVLAN}
      type: vlan
      state: up
      description: "${storageVLAN}"
      vlan:
        base-iface: eno2
        id: ${storageVLAN}
      ipv4:
        enabled: true
        dhcp: false
        address: [{ip: "${storageIP}", prefix-length: 24}]
`

func sites(t testing.TB, table string, templates ...string) ([]fleet.Site, error) {
	t.Helper()
	read, err := fleet.ReadTable([]byte(table))
	if err != nil {
		return nil, err
	}
	var all []fleet.Template
	for i, text := range templates {
		more, err := fleet.ReadTemplates(fmt.Sprintf("t%d.yaml", i), []byte(text))
		require.NoError(t, err)
		all = append(all, more...)
	}
	return fleet.Sites(read, all)
}

func TestATableBecomesSites(t *testing.T) {
	for _, table := range []string{good, "\xef\xbb\xbf" + strings.ReplaceAll(good, ",", ";")} {
		got, err := sites(t, table)
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.Equal(t, "site-001", got[0].Cluster)
		require.True(t, got[0].Canary)
		require.False(t, got[1].Canary)
		require.Equal(t, "192.0.2.10", got[0].IPConfig.IPv4.Address)
		require.Equal(t, []string{"192.0.2.53", "198.51.100.53"}, got[0].IPConfig.DNSServers)
		require.Equal(t, int32(100), *got[0].IPConfig.VLANID)
		require.Equal(t, int32(0), *got[1].IPConfig.VLANID, "0 removes the VLAN, and is not left out")
	}
}

// Each mistake is named by its row, column and value, with what is right, and all of them at once.
func TestEveryMistakeIsNamedAtOnce(t *testing.T) {
	_, err := sites(t, `cluster,canary,ipv4Address,ipv4MachineNetwork,ipv4Gateway,dnsServers,vlanID
Site_1,maybe,192.0.2.300,192.0.2.1/24,192.0.2.1,dns.example.com,4095
ok,,192.0.2.10,198.51.100.0/24,203.0.113.1,192.0.2.53 192.0.2.53,x
ok,,192.0.2.0,192.0.2.0/24,192.0.2.0,,
dry,,,192.0.2.0/24,,,
`)
	require.EqualError(t, err, `row 2, column cluster: "Site_1": it must be the name of a ManagedCluster: lower-case letters, digits and hyphens, 63 at most
row 2, column canary: "maybe": it must be yes, no or empty
row 2, column ipv4Address: "192.0.2.300": it must be a unicast IPv4 address without prefix length, for example 192.0.2.10
row 2, column ipv4MachineNetwork: "192.0.2.1/24": host bits are set; the network is 192.0.2.0/24
row 2, column dnsServers: "dns.example.com": it must be a unicast address; separate two with a space
row 2, column vlanID: "4095": it must be a number from 1 to 4094, or 0 for no VLAN
row 3, column ipv4Address: "192.0.2.10": it must be inside ipv4MachineNetwork, 198.51.100.0/24
row 3, column ipv4Gateway: "203.0.113.1": it must be inside ipv4MachineNetwork, 198.51.100.0/24
row 3, column dnsServers: "192.0.2.53": it appears twice; remove one
row 3, column vlanID: "x": it must be a number from 1 to 4094, or 0 for no VLAN
row 4, column cluster: "ok": it is that of row 3, too; a cluster has one row
row 4, column ipv4Address: "192.0.2.0": it is the first address of ipv4MachineNetwork, which no host may have; choose another
row 4, column ipv4Gateway: "192.0.2.0": it is the node's own address; enter that of the router
row 5, column ipv4MachineNetwork: "192.0.2.0/24": it needs a value in ipv4Address, too; fill it or empty this one`)
}

func TestTheShapeOfATableIsChecked(t *testing.T) {
	for table, want := range map[string]string{
		"":                                       "the table is empty; its first line must name the columns, of which cluster is one",
		"cluster,ipv4Address\n":                  "the table names no cluster",
		"name\nx\n":                              "row 1, column cluster: it is missing; it names the ManagedCluster of each site",
		"cluster,cluster\n":                      "row 1, column cluster: it appears twice; remove one",
		"cluster,IPV4address\na,b\n":             `row 1: "IPV4address": this column is written ipv4Address`,
		"cluster,2x\na,b\n":                      `row 1: "2x": the name of a column begins with a letter, and has letters, digits, hyphens and underscores`,
		"cluster,ipv4Address\na\nb,c,d\n":        "row 2: it has 1 field, the first line names 2 columns\nrow 3: it has 3 fields, the first line names 2 columns",
		"cluster,note\na,b\n":                    "row 1, column note: nothing reads it; a template reads it as ${note}",
		"cluster,ipv4Address\na,\n":              "row 2: it asks for nothing: fill ipv4Address",
		"cluster,ipv4Address\na,192.0.2.1\nb,\n": "row 3: it asks for nothing",
	} {
		_, err := sites(t, table)
		require.ErrorContains(t, err, want, "%q", table)
	}
}

// A plain scalar gets the type that the value has, a quoted one stays text, and a value cannot change the document's shape.
func TestValuesAreFilledIntoScalars(t *testing.T) {
	got, err := sites(t, "cluster,storageVLAN,storageIP\na,12,192.0.2.7\nb,13,192.0.2.8\n", vlanTemplate)
	require.NoError(t, err)
	spec := got[1].Objects[0].Object["spec"].(map[string]any)
	iface := spec["desiredState"].(map[string]any)["interfaces"].([]any)[0].(map[string]any)
	require.Equal(t, "eno2.13", iface["name"])
	require.EqualValues(t, 13, iface["vlan"].(map[string]any)["id"])
	require.Equal(t, "13", iface["description"])
	_, err = sites(t, "cluster,storageVLAN,storageIP\na,\"12, evil: true}\",192.0.2.7\n", vlanTemplate)
	require.ErrorContains(t, err, "row 2, column storageIP, storageVLAN: template t0.yaml: policy storage")
}

func TestWhatATemplateMakesIsReviewed(t *testing.T) {
	const table = "cluster,storageVLAN,storageIP\na,5000,192.0.2.7\nb,,192.0.2.8\n"
	_, err := sites(t, table, vlanTemplate)
	require.EqualError(t, err, `row 3, column storageVLAN: it is empty, and template t0.yaml needs it`)
	for template, want := range map[string]string{
		vlanTemplate: "row 2, column storageIP, storageVLAN: template t0.yaml: policy storage: ",
		strings.ReplaceAll(vlanTemplate, "${storageIP}", "${other}"):                       `"${other}": template t0.yaml names a column that the table has not; it has cluster`,
		strings.Replace(vlanTemplate, "name: storage", "name: ${cluster}", 1):              "the name and namespace of an object must be the same on all clusters",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: \"${storageIP}${storageVLAN}\"}\n": "v1 Secret is not a kind for templates; those are NodeNetworkConfigurationPolicy, ClusterRelocation, IPPool",
		vlanTemplate + "---\n" + vlanTemplate:                                              "an object comes from one template",
		strings.Replace(vlanTemplate, "type: vlan", "type: vlna", 1):                       "vlna",
		strings.Replace(vlanTemplate, "name: storage", "name: Storage_1", 1):               `metadata.name "Storage_1" is not a Kubernetes name`,
	} {
		rows := "cluster,storageVLAN,storageIP\na,12,192.0.2.7\nb,13,192.0.2.8\n"
		if template == vlanTemplate {
			rows = "cluster,storageVLAN,storageIP\na,5000,192.0.2.7\n"
		}
		_, err := sites(t, rows, template)
		require.ErrorContains(t, err, want)
	}
}

func rollout() fleet.Rollout {
	return fleet.Rollout{Name: "move", Namespace: "lca-fleet", MaxConcurrency: 10, Timeout: 240}
}

func TestARolloutIsChecked(t *testing.T) {
	for want, change := range map[string]func(*fleet.Rollout){
		`name "Move"`:           func(r *fleet.Rollout) { r.Name = "Move" },
		`namespace ""`:          func(r *fleet.Rollout) { r.Namespace = "" },
		"are too long together": func(r *fleet.Rollout) { r.Name = strings.Repeat("m", 50) },
		"max-concurrency 0":     func(r *fleet.Rollout) { r.MaxConcurrency = 0 },
		"timeout 0":             func(r *fleet.Rollout) { r.Timeout = 0 },
	} {
		r := rollout()
		change(&r)
		_, err := r.Policies(nil)
		require.ErrorContains(t, err, want)
		_, err = r.Works(nil)
		require.ErrorContains(t, err, want)
	}
}

// What is written is read by people and by Git: the same table makes the same bytes.
func TestRenderedFiles(t *testing.T) {
	got, err := sites(t, "cluster,canary,ipv4Address,ipv6Address,storageVLAN,storageIP\nsite-001,yes,192.0.2.10,,12,192.0.2.7\nsite-002,,192.0.2.10,2001:db8::10,13,192.0.2.8\n", vlanTemplate)
	require.NoError(t, err)
	for name, render := range map[string]func([]fleet.Site) ([]fleet.File, error){"policies": rollout().Policies, "works": rollout().Works} {
		files, err := render(got)
		require.NoError(t, err)
		var text strings.Builder
		for _, f := range files {
			fmt.Fprintf(&text, "# %s\n%s", f.Name, f.Data)
		}
		golden := "testdata/" + name + ".yaml"
		if os.Getenv("UPDATE_GOLDEN") != "" {
			require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), text.String())
	}
}

func TestPoliciesRefuseWhatTheyWouldReadAsTemplates(t *testing.T) {
	const captured = `apiVersion: nmstate.io/v1
kind: NodeNetworkConfigurationPolicy
metadata: {name: bridge}
spec:
  capture: {default-gw: routes.running.destination=="0.0.0.0/0"}
  desiredState:
    interfaces:
    - name: "{{ capture.default-gw.routes.running.0.next-hop-interface }}"
      type: ethernet
      state: up
`
	got, err := sites(t, "cluster\na\n", captured)
	require.NoError(t, err)
	_, err = rollout().Policies(got)
	require.ErrorContains(t, err, "NodeNetworkConfigurationPolicy bridge has {{ }}, which policies read as templates of their own")
	files, err := rollout().Works(got)
	require.NoError(t, err)
	require.Len(t, files, 1, "it is the same everywhere: one ManifestWorkReplicaSet")
	require.Contains(t, string(files[0].Data), "kind: ManifestWorkReplicaSet")
}

// TestPoliciesHaveTheLabelsOfTemplates and the annotations, as ManifestWorks do, and refuse those that differ.
func TestPoliciesHaveTheLabelsOfTemplates(t *testing.T) {
	const labelled = `apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: storage, namespace: hosts, labels: {team: network}, annotations: {note: "${note}"}}
spec: {namePrefix: storage, prefix: 24}
`
	got, err := sites(t, "cluster,note\na,same\nb,same\n", labelled)
	require.NoError(t, err)
	files, err := rollout().Policies(got)
	require.NoError(t, err)
	all := ""
	for _, f := range files {
		all += string(f.Data)
	}
	require.Contains(t, all, "team: network")
	require.Contains(t, all, "note: same")

	got, err = sites(t, "cluster,note\na,one\nb,other\n", labelled)
	require.NoError(t, err)
	_, err = rollout().Policies(got)
	require.ErrorContains(t, err, "IPPool storage has other labels or annotations on cluster b than on a")
	_, err = rollout().Works(got)
	require.NoError(t, err)
}
