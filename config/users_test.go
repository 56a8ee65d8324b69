package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long a test waits for what the API server does by and by, such as to follow a new binding.
const patience = 5 * time.Minute

// TestViewersSeeAndEditorsChange: bound as an administrator would bind them, and through the roles of Kubernetes that they are aggregated to.
func TestViewersSeeAndEditorsChange(t *testing.T) {
	server := shared.Server(t)
	apply(t, server, build(t, "default")...)
	bound := map[string]string{"cluster-viewer": "lifecycle-agent-cluster-viewer", "cluster-editor": "lifecycle-agent-cluster-editor",
		"network-editor": "lifecycle-agent-network-editor", "viewer": "lifecycle-agent-viewer", "editor": "lifecycle-agent-editor"}
	for user, role := range bound {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "test-" + user},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}
		require.NoError(t, client.IgnoreAlreadyExists(server.Client.Create(t.Context(), binding)))
	}
	for _, c := range []access{
		{"cluster-viewer", "list", "lca.openshift.io/ipconfigs", "", true},
		{"cluster-viewer", "get", "nmstate.io/nodenetworkstates", "n", true},
		{"cluster-viewer", "patch", "lca.openshift.io/ipconfigs", "ipconfig", false},
		{"cluster-viewer", "list", "/secrets", "", false},
		{"cluster-editor", "update", "lca.openshift.io/ipconfigs", "ipconfig", true},
		{"cluster-editor", "create", "lca.openshift.io/seedgenerators", "seedimage", true},
		{"cluster-editor", "set-recert-image", "lca.openshift.io/ipconfigs", "ipconfig", false},
		{"cluster-editor", "patch", "nmstate.io/nodenetworkconfigurationpolicies", "p", false},
		{"network-editor", "patch", "nmstate.io/nodenetworkconfigurationpolicies", "p", true},
		{"network-editor", "patch", "lca.openshift.io/ipconfigs", "ipconfig", false},
		{"network-editor", "create", "lca.openshift.io/seedgenerators", "seedimage", false},
		{"cluster-editor", "delete", "lca.openshift.io/ipconfigs", "ipconfig", false},
		{"cluster-editor", "update", "lca.openshift.io/ipconfigs/status", "ipconfig", false},
		{"viewer", "list", "ipam.metal3.io/ippools", "default/p", true},
		{"viewer", "list", "ipam.metal3.io/ipaddresses", "default/p", true},
		{"viewer", "create", "ipam.metal3.io/ipclaims", "default/p", false},
		{"viewer", "list", "lca.openshift.io/ipconfigs", "", false},
		{"editor", "create", "ipam.metal3.io/ipclaims", "default/p", true},
		{"editor", "create", "ipam.metal3.io/ipaddresses", "default/p", false},
		{"editor", "create", "ipam.lca.openshift.io/addresslocks", "", false},
	} {
		c.judged(t, server)
	}
	for role, to := range map[string][]string{"lifecycle-agent-viewer": {"view", "edit", "admin"}, "lifecycle-agent-editor": {"edit", "admin"}} {
		has := find[rbacv1.ClusterRole](t, "operator", "ClusterRole", role).Labels
		for _, name := range to {
			require.Equal(t, "true", has["rbac.authorization.k8s.io/aggregate-to-"+name], role)
		}
	}
}

// TestTheOperatorHoldsItsLease takes and renews the lease as the operator's service account, with the lock that the program uses.
func TestTheOperatorHoldsItsLease(t *testing.T) {
	server := shared.Server(t)
	apply(t, server, build(t, "default")...)
	config := rest.CopyConfig(server.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: operatorUser, Groups: groups}
	as, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "openshift-lifecycle-agent", "lifecycle-agent.lca.openshift.io",
		as.CoreV1(), as.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: "replica-1"})
	require.NoError(t, err)
	record := resourcelock.LeaderElectionRecord{HolderIdentity: "replica-1", LeaseDurationSeconds: 15}
	require.Eventually(t, func() bool { // rights are known to the API server by and by
		return client.IgnoreAlreadyExists(lock.Create(t.Context(), record)) == nil
	}, patience, 100*time.Millisecond)
	held, _, err := lock.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, "replica-1", held.HolderIdentity)
	record.LeaderTransitions = 1
	require.NoError(t, lock.Update(t.Context(), record))
}

// TestTheOperatorsNetworkPolicyNamesItsPorts: those of its container, and its pods alone.
func TestTheOperatorsNetworkPolicyNamesItsPorts(t *testing.T) {
	pod := find[appsv1.Deployment](t, "default", "Deployment", "lifecycle-agent").Spec.Template
	policy := find[networkingv1.NetworkPolicy](t, "default", "NetworkPolicy", "lifecycle-agent").Spec
	require.True(t, labels.SelectorFromSet(policy.PodSelector.MatchLabels).Matches(labels.Set(pod.Labels)))
	require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.PolicyTypes)
	var allowed, declared []string
	for _, p := range policy.Ingress[0].Ports {
		allowed = append(allowed, p.Port.StrVal)
	}
	for _, p := range pod.Spec.Containers[0].Ports {
		declared = append(declared, p.Name)
	}
	require.ElementsMatch(t, declared, allowed)
}
