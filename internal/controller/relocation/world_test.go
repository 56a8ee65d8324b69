package relocation

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
)

const (
	factoryDomain = "sno.factory.example.com"
	siteDomain    = "store-17.example.org"
	planted       = "planted-secret-of-the-site"
	operatorUser  = "system:serviceaccount:openshift-lifecycle-agent:lifecycle-agent-operator"
)

var shared = apitest.New(apitest.Options{
	CRDs: []string{apitest.Relocation, "../../../internal/controller/relocation/testdata/*.yaml"},
	OpenShiftCRDs: []string{
		"apiservers.config.openshift.io", "ingresses.config.openshift.io", "images.config.openshift.io", "dnses.config.openshift.io",
		"proxies.config.openshift.io", "clusterversions.config.openshift.io", "infrastructures.config.openshift.io",
		"imagedigestmirrorsets.config.openshift.io", "imagetagmirrorsets.config.openshift.io",
		"ingresscontrollers.operator.openshift.io", "machineconfigs.machineconfiguration.openshift.io", "routes.route.openshift.io",
	},
	AddToScheme: []func(*runtime.Scheme) error{cluster.AddToScheme, v1beta1.AddToScheme},
})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// world is a cluster as the factory left it, and the controller with the rights that the component gives the operator.
type world struct {
	t   testing.TB
	api client.Client // the administrator's
	r   *Reconciler
	log bytes.Buffer
	// ca signs for API and router.
	ca *x509.Certificate
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server := shared.ServerOrMemory(t)
	w := &world{t: t, api: server.Client}
	var c client.Client = server.Client
	if server.Config != nil { // an API in memory knows no rights
		c = connectOperator(t, server)
	}
	w.clear()
	w.furnish()
	t.Cleanup(w.clear)
	w.r = &Reconciler{
		Client: c, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Now: time.Now,
		Direct: &reconcile.Reconciler{Client: runtimeclient.NewClient(c), Now: time.Now, Rand: rand.Reader, Hub: cluster.DialHub},
	}
	return w
}

// connectOperator installs the component's rights and connects as the operator, once they are in force.
func connectOperator(t testing.TB, server *apitest.Server) client.Client {
	t.Helper()
	server.Apply(t, "config/rbac/relocation/role.yaml")
	server.Apply(t, "config/rbac/relocation/bindings.yaml")
	require.Eventually(t, func() bool {
		permitted, err := Permitted(t.Context(), operatorConfig(server))
		return err == nil && permitted
	}, time.Minute, 20*time.Millisecond, "the component's rights are in force")
	c, err := client.New(operatorConfig(server), client.Options{Scheme: server.Scheme})
	require.NoError(t, err)
	return c
}

// operatorConfig connects as the operator does.
func operatorConfig(server *apitest.Server) *rest.Config {
	config := rest.CopyConfig(server.Config)
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: operatorUser, Groups: []string{"system:authenticated"}}
	return config
}

// reconcile runs the controller once.
func (w *world) reconcile() (ctrl.Result, error) {
	return w.r.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: v1beta1.Name}})
}

func (w *world) settle() {
	w.t.Helper()
	_, err := w.reconcile()
	require.NoError(w.t, err)
}

func (w *world) relocation() *v1beta1.ClusterRelocation {
	w.t.Helper()
	o := &v1beta1.ClusterRelocation{}
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKey{Name: v1beta1.Name}, o))
	return o
}

// want creates the object, or changes it to this spec.
func (w *world) want(spec v1beta1.ClusterRelocationSpec) {
	w.t.Helper()
	o := &v1beta1.ClusterRelocation{ObjectMeta: metav1.ObjectMeta{Name: v1beta1.Name}, Spec: spec}
	err := w.api.Create(w.t.Context(), o)
	if apierrors.IsAlreadyExists(err) {
		have := w.relocation()
		have.Spec = spec
		err = w.api.Update(w.t.Context(), have)
	}
	require.NoError(w.t, err)
}

func (w *world) condition(kind string) metav1.Condition {
	w.t.Helper()
	c := meta.FindStatusCondition(w.relocation().Status.Conditions, kind)
	require.NotNil(w.t, c, kind)
	return *c
}

// site is everything that the kind offers but a hub.
func site() v1beta1.ClusterRelocationSpec {
	return v1beta1.ClusterRelocationSpec{
		Domain:             siteDomain,
		PullSecretRef:      &v1beta1.SecretReference{Namespace: "openshift-config", Name: "site-pull-secret"},
		ImageDigestMirrors: []v1beta1.ImageDigestMirrors{{Source: "quay.io/openshift", Mirrors: []string{"mirror.store-17.example.org/openshift"}}},
		CatalogSources:     []v1beta1.CatalogSource{{Name: "site-operators", Image: "mirror.store-17.example.org/index:v1"}},
		SSHKeys:            []string{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGo2d6MZbVnoOQGtYMbRGNZiwCNyyLGRaLMYHmOZh5fB site"},
	}
}

type place struct{ group, version, kind, namespace, name string }

func (p place) empty() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(p.version)
	if p.group != "" {
		u.SetAPIVersion(p.group + "/" + p.version)
	}
	u.SetKind(p.kind)
	u.SetNamespace(p.namespace)
	u.SetName(p.name)
	return u
}

func config(kind string) place { return place{"config.openshift.io", "v1", kind, "", "cluster"} }

func secret(namespace, name string) place { return place{"", "v1", "Secret", namespace, name} }

var (
	consoleRoute = place{"route.openshift.io", "v1", "Route", "openshift-console", "console"}
	shopRoute    = place{"route.openshift.io", "v1", "Route", "shop", "till"}
	foreignRoute = place{"route.openshift.io", "v1", "Route", "shop", "www"}
	router       = place{"operator.openshift.io", "v1", "IngressController", "openshift-ingress-operator", "default"}
	clusterPull  = secret("openshift-config", "pull-secret")
)

// factory are the objects as the factory left them.
func (w *world) factory() map[place]map[string]any {
	caCert, caKey := w.authority()
	signer := map[string]any{"type": "kubernetes.io/tls", "data": map[string]any{"tls.crt": base64.StdEncoding.EncodeToString(caCert), "tls.key": base64.StdEncoding.EncodeToString(caKey)}}
	route := func(host string) map[string]any {
		return map[string]any{"spec": map[string]any{"host": host, "to": map[string]any{"kind": "Service", "name": "x", "weight": int64(100)}}}
	}
	pull := func(text string) map[string]any {
		return map[string]any{"type": "kubernetes.io/dockerconfigjson", "data": map[string]any{".dockerconfigjson": base64.StdEncoding.EncodeToString([]byte(text))}}
	}
	return map[place]map[string]any{
		config("DNS"):     {"spec": map[string]any{"baseDomain": factoryDomain}},
		config("Ingress"): {"spec": map[string]any{"domain": "apps." + factoryDomain}},
		config("Image"):   {"spec": map[string]any{}}, config("Proxy"): {"spec": map[string]any{"trustedCA": map[string]any{"name": ""}}},
		config("APIServer"): {"spec": map[string]any{"servingCerts": map[string]any{"namedCertificates": []any{map[string]any{
			"names": []any{"api.users-own.example.net"}, "servingCertificate": map[string]any{"name": "users-own"}}}}}},
		router: {"spec": map[string]any{}}, consoleRoute: route("console-openshift-console.apps." + factoryDomain),
		shopRoute: route("till.apps." + factoryDomain), foreignRoute: route("www.example.net"),
		secret("openshift-kube-apiserver-operator", "loadbalancer-serving-signer"): signer,
		secret("openshift-ingress-operator", "router-ca"):                          signer,
		clusterPull: pull(`{"auths":{"factory.example.com":{"auth":"ZmFjdG9yeTpwdw=="}}}`),
		secret("openshift-config", "site-pull-secret"): pull(`{"auths":{"mirror.store-17.example.org":{"auth":"` + planted + `"}}}`),
	}
}

func (w *world) furnish() {
	w.t.Helper()
	for p, content := range w.factory() {
		for _, ns := range []string{p.namespace, "openshift-ingress", "openshift-marketplace"} {
			err := w.api.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
			require.True(w.t, ns == "" || err == nil || apierrors.IsAlreadyExists(err), "%v", err)
		}
		u := p.empty()
		for k, v := range content {
			u.Object[k] = v
		}
		require.NoError(w.t, w.api.Create(w.t.Context(), u), "%v", p)
	}
}

// clear removes what a test left.
func (w *world) clear() {
	ctx := context.Background()
	if o := (&v1beta1.ClusterRelocation{}); w.api.Get(ctx, client.ObjectKey{Name: v1beta1.Name}, o) == nil {
		o.Finalizers = nil
		_ = w.api.Update(ctx, o)
		_ = w.api.Delete(ctx, o)
	}
	places := []place{secret(reconcile.LedgerNamespace, reconcile.LedgerName)}
	for p := range w.factory() {
		places = append(places, p)
	}
	for _, p := range append(places, made()...) {
		if err := w.api.Delete(ctx, p.empty()); err != nil && !apierrors.IsNotFound(err) {
			w.t.Fatalf("clear %v: %v", p, err)
		}
	}
}

// made are the objects that the product makes for site().
func made() []place {
	return []place{
		secret("openshift-config", "lca-relocation-api"), secret("openshift-ingress", "lca-relocation-ingress"),
		secret("openshift-config", "lca-relocation-ingress"),
		{"config.openshift.io", "v1", "ImageDigestMirrorSet", "", "mirror-ocp"},
		{"operators.coreos.com", "v1alpha1", "CatalogSource", "openshift-marketplace", "site-operators"},
		{"machineconfiguration.openshift.io", "v1", "MachineConfig", "", "core-ssh-key-master"},
		{"machineconfiguration.openshift.io", "v1", "MachineConfig", "", "core-ssh-key-worker"},
	}
}

// read returns the object without what the API server keeps of it; nil where there is none.
func (w *world) read(p place) map[string]any {
	w.t.Helper()
	u := p.empty()
	err := w.api.Get(w.t.Context(), client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	delete(u.Object, "metadata")
	return u.Object
}

// version is the object's resource version.
func (w *world) version(p place) string {
	w.t.Helper()
	u := p.empty()
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKeyFromObject(u), u))
	return u.GetResourceVersion()
}

func (w *world) state() map[place]map[string]any {
	w.t.Helper()
	out := map[place]map[string]any{}
	for p := range w.factory() {
		out[p] = w.read(p)
	}
	return out
}

// change sets a field of an object as an administrator does.
func (w *world) change(p place, value any, path ...string) {
	w.t.Helper()
	u := p.empty()
	require.NoError(w.t, w.api.Get(w.t.Context(), client.ObjectKeyFromObject(u), u))
	require.NoError(w.t, unstructured.SetNestedField(u.Object, value, path...))
	require.NoError(w.t, w.api.Update(w.t.Context(), u))
}

func (w *world) text(p place, path ...string) string {
	w.t.Helper()
	s, _, err := unstructured.NestedString(w.read(p), path...)
	require.NoError(w.t, err)
	return s
}

// authority makes the signer of API and router, once.
func (w *world) authority() (cert, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(w.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour * 24 * 3650), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(w.t, err)
	w.ca, err = x509.ParseCertificate(der)
	require.NoError(w.t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(w.t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}
