//go:build interop

package interop

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet"
)

// Rendered policies and roll-outs pass the definitions of Open Cluster Management and of the Topology Aware Lifecycle Manager.
func TestRolloutsPassTheirDefinitions(t *testing.T) {
	policies := open(t, "open-cluster-management-io/governance-policy-propagator")
	hub := open(t, "open-cluster-management-io/api")
	batches := open(t, "openshift-kni/cluster-group-upgrades-operator")
	s := shared.Server(t)
	install(t, s, policies.Read("deploy/crds/policy.open-cluster-management.io_policies.yaml"),
		policies.Read("deploy/crds/policy.open-cluster-management.io_placementbindings.yaml"),
		batches.Read("config/crd/bases/ran.openshift.io_clustergroupupgrades.yaml"),
		hub.Read("cluster/v1beta1/0000_02_clusters.open-cluster-management.io_placements.crd.yaml"),
		hub.Read("work/v1/0000_00_work.open-cluster-management.io_manifestworks.crd.yaml"),
		hub.Read("work/v1alpha1/0000_00_work.open-cluster-management.io_manifestworkreplicasets.crd.yaml"))
	for _, name := range []string{"lca-fleet", "site-001", "site-002"} {
		require.NoError(t, s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	table, err := fleet.ReadTable([]byte("cluster,canary,ipv4Address,mtu\nsite-001,yes,192.0.2.10,9000\nsite-002,,192.0.2.11,1500\n"))
	require.NoError(t, err)
	var templates []fleet.Template
	for name, text := range []string{
		"apiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nmetadata: {name: mtu}\nspec:\n  desiredState:\n    interfaces:\n    - name: eno2\n      type: ethernet\n      state: up\n      mtu: ${mtu}\n",
		"apiVersion: nmstate.io/v1\nkind: NodeNetworkConfigurationPolicy\nmetadata: {name: up}\nspec:\n  desiredState:\n    interfaces:\n    - {name: eno3, type: ethernet, state: up}\n",
	} {
		more, err := fleet.ReadTemplates(fmt.Sprint("template ", name), []byte(text))
		require.NoError(t, err)
		templates = append(templates, more...)
	}
	sites, err := fleet.Sites(table, templates)
	require.NoError(t, err)
	r := fleet.Rollout{Name: "move", Namespace: "lca-fleet", MaxConcurrency: 2, Timeout: 60}
	kinds := map[string]int{}
	for _, render := range []func([]fleet.Site) ([]fleet.File, error){r.Policies, r.Works} {
		files, err := render(sites)
		require.NoError(t, err)
		for _, f := range files {
			for _, o := range objects(t, f.Data) {
				if o.GetKind() == "Placement" && kinds["Placement"] > 0 {
					continue // the same in both
				}
				require.NoError(t, strict(s).Create(t.Context(), o), "%s: %s %s", f.Name, o.GetKind(), o.GetName())
				kinds[o.GetKind()]++
			}
		}
	}
	require.Equal(t, map[string]int{"ConfigMap": 2, "Policy": 5, "PlacementBinding": 1, "Placement": 1, "ClusterGroupUpgrade": 3,
		"ManifestWork": 2, "ManifestWorkReplicaSet": 1}, kinds)
}
