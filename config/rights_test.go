package config_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

const (
	operatorUser = "system:serviceaccount:openshift-lifecycle-agent:lifecycle-agent-operator"
	nodeUser     = "system:serviceaccount:openshift-lifecycle-agent:lifecycle-agent-node"
	seedUser     = "system:serviceaccount:openshift-lifecycle-agent:lifecycle-agent-seed"
)

// access is one question to the API server's authorizer: who, verb, group/resource, namespace/name.
type access struct {
	user, verb, resource, object string
	want                         bool
}

// TestEachRoleMayDoItsOwnWorkAndNoMore asks for what each needs, and above all for what it is refused.
func TestEachRoleMayDoItsOwnWorkAndNoMore(t *testing.T) {
	server := shared.Server(t)
	hub := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "lifecycle-agent-operator-machine-secrets"}}
	require.NoError(t, client.IgnoreNotFound(server.Client.Delete(t.Context(), hub)), "other tests install a hub")
	apply(t, server, build(t, "default")...)
	const own = "openshift-lifecycle-agent/"
	for _, c := range []access{
		{operatorUser, "patch", "ipam.metal3.io/ippools", "default/p", true},
		{operatorUser, "create", "ipam.lca.openshift.io/addresslocks", "", true},
		{operatorUser, "update", "coordination.k8s.io/leases", own + "lifecycle-agent.lca.openshift.io", true},
		{operatorUser, "create", "authentication.k8s.io/tokenreviews", "", true},
		{operatorUser, "update", "coordination.k8s.io/leases", own + "other", false},
		{operatorUser, "update", "coordination.k8s.io/leases", "kube-node-lease/sno", false},
		{operatorUser, "get", "/secrets", "openshift-config/pull-secret", false},
		{operatorUser, "create", "/secrets", "default", false},
		{operatorUser, "list", "/secrets", "", false},
		{operatorUser, "watch", "/secrets", own, false},
		{operatorUser, "update", "/secrets", own + "x", false},
		{operatorUser, "delete", "/secrets", own + "x", false},
		{operatorUser, "get", "/configmaps", "kube-system/cluster-config-v1", false},
		{operatorUser, "get", "/configmaps", "baremetal-operator-system/ironic", true}, // what metal3 leases
		{operatorUser, "list", "/configmaps", "baremetal-operator-system", false},
		{operatorUser, "get", "metal3.io/provisionings", "provisioning-configuration", true},
		{operatorUser, "get", "/nodes", "sno", false},
		{operatorUser, "patch", "/nodes", "sno", false},
		{operatorUser, "create", "/pods", own + "x", false},
		{operatorUser, "create", "/serviceaccounts/token", own + "lifecycle-agent-node", false},
		{operatorUser, "get", "lca.openshift.io/ipconfigs", "ipconfig", false},
		{operatorUser, "patch", "lca.openshift.io/ipconfigs", "ipconfig", false},
		{operatorUser, "get", "machineconfiguration.openshift.io/machineconfigs", "50-master-dnsmasq-configuration", true}, // of network policies
		{operatorUser, "deletecollection", "machineconfiguration.openshift.io/machineconfigs", "", false},
		{operatorUser, "patch", "nmstate.io/nodenetworkconfigurationpolicies/status", "p", true},
		{operatorUser, "patch", "nmstate.io/nodenetworkconfigurationenactments", "n.p", true},
		{operatorUser, "create", "nmstate.io/nodenetworkconfigurationenactments", "n.p", false},
		{operatorUser, "patch", "nmstate.io/nodenetworkstates/status", "n", false},
		{operatorUser, "use", "security.openshift.io/securitycontextconstraints", own + "privileged", false},
		{operatorUser, "create", "rbac.authorization.k8s.io/clusterrolebindings", "", false},

		{nodeUser, "patch", "lca.openshift.io/ipconfigs/status", "ipconfig", true},
		{nodeUser, "list", "/nodes", "", true},
		{nodeUser, "use", "security.openshift.io/securitycontextconstraints", own + "privileged", true},
		{nodeUser, "delete", "lca.openshift.io/ipconfigs", "ipconfig", false},
		{nodeUser, "patch", "/nodes", "sno", false},
		{nodeUser, "patch", "lca.openshift.io/seedgenerators/status", "seedimage", true},
		{nodeUser, "get", "/secrets", own + "seedgen", false}, // the account below may, and a policy says which node has a token of it
		{nodeUser, "get", "/secrets", own + "seedgen-signing", false},
		{nodeUser, "create", "/serviceaccounts/token", own + "lifecycle-agent-seed", true},
		{nodeUser, "create", "/serviceaccounts/token", own + "lifecycle-agent-operator", false},
		{seedUser, "get", "/secrets", own + "seedgen", true},
		{seedUser, "get", "/secrets", own + "seedgen-signing", true},
		{seedUser, "get", "/secrets", own + "x", false},
		{seedUser, "get", "lca.openshift.io/seedgenerators", "seedimage", false},
		{nodeUser, "get", "/configmaps", "openshift-config/user-ca-bundle", true},
		{nodeUser, "update", "/secrets", own + "seedgen", false},
		{nodeUser, "delete", "/secrets", own + "seedgen", false},
		{nodeUser, "get", "/secrets", "openshift-config/pull-secret", false},
		{nodeUser, "patch", "/secrets", "openshift-config/pull-secret", false},
		{nodeUser, "create", "lca.openshift.io/seedgenerators", "", false},
		{nodeUser, "delete", "lca.openshift.io/seedgenerators", "seedimage", false},
		{nodeUser, "delete", "/namespaces", "assisted-installer", false},
		{nodeUser, "delete", "/pods", "default/x", false},
		{nodeUser, "delete", "apiextensions.k8s.io/customresourcedefinitions", "klusterlets.operator.open-cluster-management.io", false},
		{operatorUser, "patch", "lca.openshift.io/seedgenerators", "seedimage", false},
		{nodeUser, "get", "/secrets", own + "x", false},
		{nodeUser, "list", "/secrets", "", false},
		{nodeUser, "create", "/secrets", own + "x", false},
		{nodeUser, "get", "ipam.metal3.io/ippools", "default/p", false},
		{nodeUser, "patch", "ipam.metal3.io/ippools", "default/p", false},
		{nodeUser, "create", "ipam.lca.openshift.io/addresslocks", "", false},
		{nodeUser, "update", "coordination.k8s.io/leases", own + "lifecycle-agent.lca.openshift.io", false},
		{nodeUser, "create", "/pods", own + "x", false},
		{nodeUser, "use", "security.openshift.io/securitycontextconstraints", "default/privileged", false},
		{nodeUser, "create", "authentication.k8s.io/tokenreviews", "", false},
	} {
		c.judged(t, server, groups...)
	}
}

// judged waits until the API server answers as it should: it follows new roles and bindings by and by.
func (c access) judged(t *testing.T, server *apitest.Server, groups ...string) {
	t.Helper()
	spec := authorizationv1.SubjectAccessReviewSpec{User: c.user, Groups: groups, ResourceAttributes: c.attributes()}
	require.Eventually(t, func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: spec}
		err := server.Client.Create(t.Context(), review)
		return err == nil && review.Status.Allowed == c.want
	}, patience, 50*time.Millisecond, "%+v", c)
}

// TestRelocationGivesTheOperatorItsRights: the component alone gives them, and with its definition takes its sample.
func TestRelocationGivesTheOperatorItsRights(t *testing.T) {
	server := shared.Server(t)
	all := build(t, "components/relocation") // as docs/relocation.md applies it, after the default
	apply(t, server, build(t, "default")...)
	t.Cleanup(func() {
		for _, o := range all {
			if o.GetName() == "lifecycle-agent-relocation" {
				require.NoError(t, client.IgnoreNotFound(server.Client.Delete(context.Background(), o)))
			}
		}
	})
	apply(t, server, all...)
	for _, c := range []access{
		{operatorUser, "patch", "rhsyseng.github.io/clusterrelocations/status", "cluster", true},
		{operatorUser, "update", "config.openshift.io/ingresses", "cluster", true},
		{operatorUser, "update", "config.openshift.io/ingresses", "other", false},
		{operatorUser, "update", "/secrets", "openshift-config/pull-secret", true},
		{operatorUser, "list", "/secrets", "", false},
		{operatorUser, "delete", "rhsyseng.github.io/clusterrelocations", "cluster", false},
		{nodeUser, "get", "rhsyseng.github.io/clusterrelocations", "cluster", false},
		{nodeUser, "update", "config.openshift.io/ingresses", "cluster", false},
	} {
		c.judged(t, server, groups...)
	}
	server.Apply(t, "config/samples/relocation_clusterrelocation.yaml")
}

// TestTheOperatorReadsNoSecretByDefault: on a cluster with its own nodes, until the role for Secrets of machines is bound in their
// namespaces. A hub has it bound in all.
func TestTheOperatorReadsNoSecretByDefault(t *testing.T) {
	const role = "lifecycle-agent-operator-machine-secrets"
	bound := func(folder string) (bound bool) {
		for _, o := range build(t, folder) {
			switch {
			case strings.HasSuffix(o.GetKind(), "Binding") && o.GetName() == role:
				bound = true
			case o.GetKind() == "ClusterRole" && o.GetName() != role || o.GetKind() == "Role" && o.GetName() != "lifecycle-agent-seed":
				for _, rule := range typed[rbacv1.ClusterRole](t, o).Rules {
					require.NotContains(t, rule.Resources, "secrets", o.GetName())
				}
			}
		}
		return bound
	}
	for folder, want := range map[string]bool{"default": false, "release/openshift": false, "release/kubernetes": false,
		"operator": true, "release/ipam": true, "release/clusterctl": true} {
		require.Equal(t, want, bound(folder), folder)
	}
}

var groups = []string{"system:serviceaccounts", "system:serviceaccounts:openshift-lifecycle-agent", "system:authenticated"}

func (c access) attributes() *authorizationv1.ResourceAttributes {
	group, resource, _ := strings.Cut(c.resource, "/")
	resource, subresource, _ := strings.Cut(resource, "/")
	namespace, name, namespaced := strings.Cut(c.object, "/")
	if !namespaced {
		namespace, name = "", c.object
	}
	return &authorizationv1.ResourceAttributes{Verb: c.verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
}

// TestWhatTheNodeRoleMayWriteIsUnderAPolicy: a right to write that a marker adds needs a policy that limits it to the own node.
// Events are the exception: they are about IPConfig and live in the default namespace.
func TestWhatTheNodeRoleMayWriteIsUnderAPolicy(t *testing.T) {
	var limited []admissionv1.RuleWithOperations
	for _, o := range build(t, "default") {
		if o.GetKind() == "ValidatingAdmissionPolicy" {
			p := typed[admissionv1.ValidatingAdmissionPolicy](t, o)
			for _, r := range p.Spec.MatchConstraints.ResourceRules {
				limited = append(limited, r.RuleWithOperations)
			}
		}
	}
	for _, o := range build(t, "default") {
		if o.GetName() != "lifecycle-agent-node" || o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
			continue
		}
		for _, rule := range typed[rbacv1.ClusterRole](t, o).Rules {
			if slices.Equal(rule.APIGroups, []string{"events.k8s.io"}) || !writes(rule) {
				continue
			}
			for _, resource := range rule.Resources {
				require.True(t, slices.ContainsFunc(limited, func(r admissionv1.RuleWithOperations) bool {
					return slices.Contains(r.APIGroups, rule.APIGroups[0]) && covers(r.Resources, resource)
				}), "%s %s", rule.APIGroups[0], resource)
			}
		}
	}
}

// covers reports whether a policy's list has a resource, by its name or by "*" and "*/SUBRESOURCE".
func covers(list []string, resource string) bool {
	_, sub, deeper := strings.Cut(resource, "/")
	all := "*"
	if deeper {
		all = "*/" + sub
	}
	return slices.Contains(list, resource) || slices.Contains(list, all)
}

func writes(rule rbacv1.PolicyRule) bool {
	return slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains([]string{"get", "list", "watch"}, v) })
}
