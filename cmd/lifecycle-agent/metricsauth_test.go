package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{CRDs: []string{"lca.*.yaml"}})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// TestMetricsAreForThoseWhoMayGetThem asks with no token, with one that nobody issued, with one without the right, and with the right.
func TestMetricsAreForThoseWhoMayGetThem(t *testing.T) {
	server := shared.Server(t)
	token := func(name string) string {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		require.NoError(t, client.IgnoreAlreadyExists(server.Client.Create(t.Context(), account)))
		request := &authenticationv1.TokenRequest{}
		require.NoError(t, server.Client.SubResource("token").Create(t.Context(), account, request))
		return request.Status.Token
	}
	reader := metav1.ObjectMeta{Name: "reads-metrics"}
	require.NoError(t, client.IgnoreAlreadyExists(server.Client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: reader,
		Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}})))
	require.NoError(t, client.IgnoreAlreadyExists(server.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: reader,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reader.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: "prometheus"}}})))

	httpClient, err := rest.HTTPClientFor(server.Config)
	require.NoError(t, err)
	filter, err := byRBAC(server.Config, httpClient)
	require.NoError(t, err)
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("served")) }))
	require.NoError(t, err)
	for _, c := range []struct {
		name, authorization string
		status              int
	}{
		{"no token", "", http.StatusUnauthorized},
		{"not a bearer token", "Basic dXNlcjpwYXNz", http.StatusUnauthorized},
		{"a token that was not issued here", "Bearer made-up", http.StatusUnauthorized},
		{"an account without the right", "Bearer " + token("curious"), http.StatusForbidden},
		{"an account with the right", "Bearer " + token("prometheus"), http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			var answer *httptest.ResponseRecorder
			require.Eventually(t, func() bool { // the API server follows a new binding by and by
				request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
				request.Header.Set("Authorization", c.authorization)
				answer = httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				return answer.Code == c.status
			}, 2*time.Minute, 50*time.Millisecond)
			require.Equal(t, c.status == http.StatusOK, answer.Body.String() == "served")
		})
	}
}
