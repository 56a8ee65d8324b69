package ipconfig

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// right is a verb on a resource, as a role grants it.
type right struct{ group, resource, verb string }

// asked collects the rights that requests to an API server need.
type asked struct {
	mu      sync.Mutex
	rights  map[right]bool
	refused []string
}

func (a *asked) wire(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		a.mu.Lock()
		defer a.mu.Unlock()
		if used, ok := rightFor(r.Method, r.URL); ok {
			a.rights[used] = true
		}
		if err == nil && response.StatusCode == http.StatusForbidden {
			a.refused = append(a.refused, r.Method+" "+r.URL.Path)
		}
		return response, err
	})
}

func (a *asked) used(r right) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rights[r]
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// rightFor reads a request as the API server's authorizer does.
func rightFor(method string, u *url.URL) (right, bool) {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	var r right
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.group, parts = parts[1], parts[3:]
	default:
		return r, false // discovery
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	r.resource = parts[0]
	if len(parts) > 2 {
		r.resource += "/" + parts[2]
	}
	r.verb = map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodPut: "update", http.MethodDelete: "delete"}[method]
	switch {
	case method == http.MethodGet && len(parts) > 1:
		r.verb = "get"
	case method == http.MethodGet && u.Query().Get("watch") != "":
		r.verb = "watch"
	case method == http.MethodGet:
		r.verb = "list"
	}
	return r, true
}

// marker is a right as the sources of this package ask for it; config/rbac is generated from these and those of other packages.
var marker = regexp.MustCompile(`\+kubebuilder:rbac:(\S+)`)

// rule is one marker.
type rule struct {
	namespace string
	policy    rbacv1.PolicyRule
}

func rules(t *testing.T) []rule {
	t.Helper()
	source, err := os.ReadFile("rbac.go")
	require.NoError(t, err)
	var all []rule
	for _, found := range marker.FindAllStringSubmatch(string(source), -1) {
		var r rule
		for _, setting := range strings.Split(found[1], ",") {
			name, value, _ := strings.Cut(setting, "=")
			words := strings.Split(strings.Trim(value, `"`), ";")
			switch name {
			case "groups":
				r.policy.APIGroups = words
			case "resources":
				r.policy.Resources = words
			case "resourceNames":
				r.policy.ResourceNames = words
			case "verbs":
				r.policy.Verbs = words
			case "namespace":
				r.namespace = value
			default:
				t.Fatalf("marker %s: what is %s?", found[1], name)
			}
		}
		all = append(all, r)
	}
	require.NotEmpty(t, all)
	return all
}

// granted lists the rights of this package one by one.
func granted(t *testing.T) []right {
	t.Helper()
	var all []right
	for _, r := range rules(t) {
		for _, group := range r.policy.APIGroups {
			for _, resource := range r.policy.Resources {
				for _, verb := range r.policy.Verbs {
					require.NotContains(t, []string{group, resource, verb}, "*")
					all = append(all, right{group, resource, verb})
				}
			}
		}
	}
	return all
}

// alone is a user with the rights of this package, and no other.
func (w *world) alone(t *testing.T) rest.ImpersonationConfig {
	t.Helper()
	const name = "ipconfig-alone"
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}}
	for i, r := range rules(t) {
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Namespace: r.namespace}
		if r.namespace == "" {
			w.put(&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{r.policy}})
			w.put(&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subject,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}})
			continue
		}
		w.put(&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{r.policy}})
		w.put(&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}})
	}
	return rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
}

// TestTheRoleIsWhatAWholeFlowNeedsAndNoMore lets the operator work with nothing but its own rights: through a change, its
// rollback, another change that is kept, and as a running manager. Nothing is refused, and nothing
// is granted that was not used.
func TestTheRoleIsWhatAWholeFlowNeedsAndNoMore(t *testing.T) {
	w, a := newWorld(t), &asked{rights: map[right]bool{}}
	who := w.alone(t)
	newUpgrade(w)
	w.wire = a.wire
	w.restartAs(shared.Server(t), who)
	w.wholeFlow()
	w.asManager(a, who)
	require.Empty(t, a.refused, "what the flow needs is granted")
	there := served(t)
	for _, r := range granted(t) {
		resource, _, _ := strings.Cut(r.resource, "/")
		if !there[schema.GroupResource{Group: r.group, Resource: resource}] {
			t.Logf("not shown to be used: %v, which this API server does not serve", r)
			continue
		}
		switch r {
		case right{"events.k8s.io", "events", "patch"}: // for an event that repeats
			continue
		case right{"lca.openshift.io", "ipconfigs", "list"}: // for the cache, where the server cannot stream a list
			continue
		}
		require.True(t, a.used(r), "%v is granted and never used", r)
	}
}

// wholeFlow changes, rolls back, changes again and keeps it.
func (w *world) wholeFlow() {
	w.t.Helper()
	w.rest()
	left := w.change(toNewAddress)
	request, err := ipconfig.ReadRequest(w.node)
	require.NoError(w.t, err, "%v", left.Status.Conditions)
	w.pivot(request)
	w.rest()
	w.postPivotDone()
	w.rest()
	w.stage(lcav1.StageRollback)
	w.journalAt(operation.PivotedJournalPath(request.OperationID), ipconfig.FlowRollback,
		flow.Entry{Kind: flow.KindNote, Message: ipconfig.CauseRequested}, flow.Entry{Kind: flow.KindBegin, Total: 5})
	w.comeBack(request, left)
	require.Equal(w.t, lcav1.StageRollback, w.rest().Spec.Stage, "the request is restored")
	w.stage(lcav1.StageIdle)
	w.cleanedUp()
	requireLast(w.t, w.rest(), "Idle", yes, "Idle", "Idle")
	w.change(func(ipc *lcav1.IPConfig) {
		toNewAddress(ipc)
		ipc.Annotations = map[string]string{lcav1.TriggerReconcileAnnotation: "now"}
	})
	require.Equal(w.t, 2, w.node.launched(ipconfig.UnitPrePivot), "%v", w.get().Status.Conditions)
	w.stage(lcav1.StageIdle)
	w.cleanedUp()
	requireLast(w.t, w.rest(), "Idle", yes, "Idle", "Idle")
}

// asManager runs the controller as the deployed program does, with its caches and its events.
func (w *world) asManager(a *asked, who rest.ImpersonationConfig) {
	w.t.Helper()
	srv := shared.Server(w.t)
	cfg := rest.CopyConfig(srv.Config)
	cfg.Impersonate = who
	cfg.Wrap(a.wire)
	again := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{Scheme: srv.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &again}})
	require.NoError(w.t, err)
	w.r.Client, w.r.Reader = mgr.GetClient(), mgr.GetAPIReader()
	require.NoError(w.t, w.r.SetupWithManager(mgr))
	ctx, stop := context.WithCancel(w.t.Context())
	var done sync.WaitGroup
	done.Go(func() { _ = mgr.Start(ctx) })
	defer func() { stop(); done.Wait() }()
	require.NoError(w.t, w.api.Delete(w.t.Context(), w.get()))
	for _, r := range []right{{"", "nodes", "watch"}, {"lca.openshift.io", "ipconfigs", "create"}, {"events.k8s.io", "events", "create"}} {
		require.Eventually(w.t, func() bool { return a.used(r) }, 4*quick, wait, "%v", r)
	}
}

// TestWhatIsNotGrantedIsRefused asks the API server's own authorizer.
func TestWhatIsNotGrantedIsRefused(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	who := w.alone(t)
	for _, c := range []struct{ group, resource, namespace, name, verb string }{
		{"lca.openshift.io", "ipconfigs", "", "ipconfig", "delete"}, {"lca.openshift.io", "ipconfigs", "", "ipconfig", "update"},
		{"lca.openshift.io", "imagebasedupgrades", "", "upgrade", "patch"}, {"lca.openshift.io", "imagebasedupgrades", "", "other", "get"},
		{"", "secrets", "", "", "list"}, {"", "secrets", "kube-system", "x", "get"}, {"", "secrets", "openshift-lifecycle-agent", "pull", "get"},
		{"", "secrets", "openshift-kube-apiserver-operator", "loadbalancer-serving-signer", "get"},
		{"", "configmaps", "kube-system", "other", "get"}, {"", "configmaps", "kube-system", "", "list"},
		{"", "configmaps", "kube-system", "cluster-config-v1", "update"}, {"", "configmaps", "default", "cluster-config-v1", "get"},
		{"", "nodes", "", "sno", "patch"}, {"", "nodes", "", "sno", "delete"}, {"", "pods", "", "", "list"}, {"", "pods", "default", "x", "delete"},
		{"", "serviceaccounts", "default", "default", "impersonate"}, {"apps", "deployments", "openshift-lifecycle-agent", "lifecycle-agent", "patch"},
		{"machineconfiguration.openshift.io", "machineconfigs", "", "other", "get"}, {"machineconfiguration.openshift.io", "machineconfigs", "", "", "create"},
		{"certificates.k8s.io", "certificatesigningrequests", "", "x", "delete"},
		{"rbac.authorization.k8s.io", "clusterrolebindings", "", "", "create"}, {"events.k8s.io", "events", "kube-system", "", "create"},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: who.UserName, Groups: who.Groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: c.group, Resource: c.resource, Namespace: c.namespace, Name: c.name, Verb: c.verb}}}
		require.NoError(t, w.api.Create(t.Context(), review))
		require.False(t, review.Status.Allowed, fmt.Sprintf("%+v", c))
	}
	sees := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: who.UserName, Groups: who.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Resource: "configmaps", Namespace: "kube-system", Name: "cluster-config-v1", Verb: "get"}}}
	require.NoError(t, w.api.Create(t.Context(), sees))
	require.True(t, sees.Status.Allowed, "the review is well formed")
}
