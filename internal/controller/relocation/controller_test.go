package relocation

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
)

func TestTheClusterTakesItsSiteOn(t *testing.T) {
	w := newWorld(t)
	w.want(site())
	w.settle()
	for _, c := range w.relocation().Status.Conditions {
		require.Equal(t, metav1.ConditionTrue, c.Status, "%+v", c)
		require.Equal(t, w.relocation().Generation, c.ObservedGeneration, c.Type)
	}
	require.Len(t, w.relocation().Status.Conditions, 2+len(reconcile.Parts()))

	require.Equal(t, "apps."+siteDomain, w.text(config("Ingress"), "spec", "appsDomain"))
	require.Equal(t, "till.apps."+siteDomain, w.text(shopRoute, "spec", "host"))
	require.Equal(t, "www.example.net", w.text(foreignRoute, "spec", "host"), "a host of another domain is none of ours")
	require.Equal(t, "console-openshift-console.apps."+factoryDomain, w.text(consoleRoute, "spec", "host"), "its operator moves it")
	require.Equal(t, w.text(secret("openshift-config", "site-pull-secret"), "data", ".dockerconfigjson"),
		w.text(clusterPull, "data", ".dockerconfigjson"))
	for _, p := range made() {
		require.NotNil(t, w.read(p), "%v", p)
	}
	named, _, err := unstructured.NestedSlice(w.read(config("APIServer")), "spec", "servingCerts", "namedCertificates")
	require.NoError(t, err)
	require.Len(t, named, 2, "the user's own entry stays beside ours")
	w.proves(secret("openshift-config", "lca-relocation-api"), "api."+siteDomain)
	w.proves(secret("openshift-ingress", "lca-relocation-ingress"), "till.apps."+siteDomain)
}

// proves verifies a serving certificate as a client does.
func (w *world) proves(p place, host string) {
	w.t.Helper()
	text, err := base64.StdEncoding.DecodeString(w.text(p, "data", "tls.crt"))
	require.NoError(w.t, err)
	block, _ := pem.Decode(text)
	require.NotNil(w.t, block)
	leaf, err := x509.ParseCertificate(block.Bytes)
	require.NoError(w.t, err)
	roots := x509.NewCertPool()
	roots.AddCert(w.ca)
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	require.NoError(w.t, err)
}

func TestWhatIsInPlaceIsNotWrittenAgain(t *testing.T) {
	w := newWorld(t)
	w.want(site())
	w.settle()
	w.settle() // the ledger notes that all was seen in place
	before := map[place]string{}
	all := append(made(), secret(reconcile.LedgerNamespace, reconcile.LedgerName), config("APIServer"), config("Ingress"), shopRoute, clusterPull,
		place{"rhsyseng.github.io", "v1beta1", "ClusterRelocation", "", "cluster"})
	for _, p := range all {
		before[p] = w.version(p)
	}
	result, err := w.reconcile()
	require.NoError(t, err)
	require.Equal(t, lookAgain, result.RequeueAfter)
	for _, p := range all {
		require.Equal(t, before[p], w.version(p), "%v", p)
	}
}

func TestDeletionGivesEveryOriginalBack(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	w.want(site())
	w.settle()
	require.NotEqual(t, before, w.state())
	require.NoError(t, w.api.Delete(t.Context(), w.relocation()))
	w.settle()
	require.Equal(t, before, w.state())
	for _, p := range append(made(), secret(reconcile.LedgerNamespace, reconcile.LedgerName)) {
		require.Nil(t, w.read(p), "%v", p)
	}
	err := w.api.Get(t.Context(), client.ObjectKey{Name: v1beta1.Name}, &v1beta1.ClusterRelocation{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestAFieldThatGoesGetsItsOriginalBack(t *testing.T) {
	w := newWorld(t)
	factory := w.text(clusterPull, "data", ".dockerconfigjson")
	w.want(site())
	w.settle()
	less := site()
	less.PullSecretRef, less.ImageDigestMirrors = nil, nil
	w.want(less)
	w.settle()
	require.Equal(t, factory, w.text(clusterPull, "data", ".dockerconfigjson"))
	require.Nil(t, w.read(place{"config.openshift.io", "v1", "ImageDigestMirrorSet", "", "mirror-ocp"}))
	require.Equal(t, "apps."+siteDomain, w.text(config("Ingress"), "spec", "appsDomain"), "what is still wanted stays")
}

func TestDriftIsMendedAndTold(t *testing.T) {
	w := newWorld(t)
	w.want(site())
	w.settle()
	w.change(config("Ingress"), "apps.drifted.example.com", "spec", "appsDomain")
	w.settle()
	require.Equal(t, "apps."+siteDomain, w.text(config("Ingress"), "spec", "appsDomain"))
	c := w.condition("DomainReconciled")
	require.Equal(t, metav1.ConditionTrue, c.Status)
	require.Equal(t, "DriftCorrected", c.Reason)
	require.Contains(t, c.Message, "ingress/cluster#spec/appsDomain")
}

func TestWhatSomebodyElseHasChangedSinceStays(t *testing.T) {
	w := newWorld(t)
	w.want(site())
	w.settle()
	w.change(clusterPull, base64.StdEncoding.EncodeToString([]byte(`{"auths":{}}`)), "data", ".dockerconfigjson")
	require.NoError(t, w.api.Delete(t.Context(), w.relocation()))
	w.settle()
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte(`{"auths":{}}`)), w.text(clusterPull, "data", ".dockerconfigjson"))
	require.Contains(t, w.log.String(), "secret/openshift-config/pull-secret#data/.dockerconfigjson")
}

func TestAnObjectThatSaysNonsenseChangesNothing(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	bad := site()
	bad.Domain = "not a domain"
	bad.ImageDigestMirrors[0].Source = "https://quay.io/x"
	w.want(bad)
	w.settle()
	c := w.condition(v1beta1.ConditionReady)
	require.Equal(t, metav1.ConditionFalse, c.Status)
	require.Contains(t, c.Message, "spec.domain")
	require.Contains(t, c.Message, "spec.imageDigestMirrors[0].source", "all problems at once")
	require.Equal(t, metav1.ConditionFalse, w.condition(v1beta1.ConditionReconciled).Status)
	require.Equal(t, before, w.state())
}

func TestAPartThatFailsHoldsNoOtherUp(t *testing.T) {
	w := newWorld(t)
	spec := site()
	spec.PullSecretRef.Name = "missing"
	w.want(spec)
	_, err := w.reconcile()
	require.ErrorContains(t, err, "secret/openshift-config/missing")
	require.Contains(t, w.condition("PullSecretReconciled").Message, "secret/openshift-config/missing has no key .dockerconfigjson")
	require.Equal(t, metav1.ConditionTrue, w.condition("DomainReconciled").Status)
	require.Equal(t, metav1.ConditionTrue, w.condition("MirrorsReconciled").Status)
	require.Contains(t, w.condition(v1beta1.ConditionReconciled).Message, "PullSecretReconciled: ")
}

func TestAHubThatDoesNotAnswerIsTold(t *testing.T) {
	w := newWorld(t)
	token := secret("openshift-config", "hub-token").empty()
	token.Object["stringData"] = map[string]any{"token": planted}
	require.NoError(t, w.api.Create(t.Context(), token))
	t.Cleanup(func() { _ = w.api.Delete(t.Context(), token) })
	spec := site()
	spec.ACMRegistration = &v1beta1.ACMRegistration{URL: "https://127.0.0.1:1", ClusterName: "store-17",
		ACMSecret: v1beta1.SecretReference{Namespace: "openshift-config", Name: "hub-token"}}
	w.want(spec)
	w.settle()
	c := w.condition("HubReconciled")
	require.Equal(t, "NeedsAttention", c.Reason)
	require.Contains(t, c.Message, "https://127.0.0.1:1")
	require.Equal(t, metav1.ConditionTrue, w.condition("DomainReconciled").Status)
}

func TestNoSecretIsInStatusOrLog(t *testing.T) {
	w := newWorld(t)
	spec := site()
	w.want(spec)
	w.settle()
	require.NotContains(t, w.log.String(), planted)
	for _, c := range w.relocation().Status.Conditions {
		require.NotContains(t, c.Message, planted)
	}
}

// TestTheComponentGivesTheRights: where the definition alone is there, as another operator's is, the controller is not to start.
func TestTheComponentGivesTheRights(t *testing.T) {
	w := newWorld(t)
	permitted, err := Permitted(t.Context(), operatorConfig(shared.Server(t)))
	require.NoError(t, err)
	require.True(t, permitted)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "lifecycle-agent-relocation"}}
	require.NoError(t, w.api.Delete(t.Context(), binding)) // the next world applies it again
	require.Eventually(t, func() bool {
		permitted, err := Permitted(t.Context(), operatorConfig(shared.Server(t)))
		return err == nil && !permitted
	}, time.Minute, 50*time.Millisecond)
}

func TestThereIsOneOfItsKind(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	err := w.api.Create(t.Context(), &v1beta1.ClusterRelocation{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: site()})
	require.ErrorContains(t, err, "there is one ClusterRelocation, and its name is cluster")
}

// TestUnderAManager runs the controller as the operator does, from the first object to the last original.
func TestUnderAManager(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	s := shared.Server(t)
	unique := true
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{Scheme: s.Scheme, Metrics: server.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: &unique}})
	require.NoError(t, err)
	w.r.Client, w.r.Log = mgr.GetClient(), slog.New(slog.DiscardHandler)
	require.NoError(t, w.r.SetupWithManager(mgr))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil && !errors.Is(err, t.Context().Err()) {
			t.Error(err)
		}
	})
	w.want(site())
	require.Eventually(t, func() bool {
		for _, c := range w.relocation().Status.Conditions {
			if c.Type == v1beta1.ConditionReconciled && c.Status == metav1.ConditionTrue {
				return true
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, w.api.Delete(t.Context(), w.relocation()))
	require.Eventually(t, func() bool {
		return apierrors.IsNotFound(w.api.Get(t.Context(), client.ObjectKey{Name: v1beta1.Name}, &v1beta1.ClusterRelocation{}))
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, before, w.state())
}
