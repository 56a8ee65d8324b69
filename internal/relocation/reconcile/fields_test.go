package reconcile_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// api is an API server in memory that serves the kinds which a site changes.
func api(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	for kind, version := range map[string]schema.GroupVersion{
		"DNS": {Group: "config.openshift.io", Version: "v1"}, "Ingress": {Group: "config.openshift.io", Version: "v1"},
		"APIServer": {Group: "config.openshift.io", Version: "v1"}, "Proxy": {Group: "config.openshift.io", Version: "v1"},
		"Image": {Group: "config.openshift.io", Version: "v1"}, "ClusterVersion": {Group: "config.openshift.io", Version: "v1"},
		"Infrastructure":           {Group: "config.openshift.io", Version: "v1"},
		"ImageDigestMirrorSet":     {Group: "config.openshift.io", Version: "v1"},
		"ImageTagMirrorSet":        {Group: "config.openshift.io", Version: "v1"},
		"ImageContentSourcePolicy": {Group: "operator.openshift.io", Version: "v1alpha1"},
		"IngressController":        {Group: "operator.openshift.io", Version: "v1"},
		"CatalogSource":            {Group: "operators.coreos.com", Version: "v1alpha1"},
		"MachineConfig":            {Group: "machineconfiguration.openshift.io", Version: "v1"},
		"Route":                    {Group: "route.openshift.io", Version: "v1"},
		"ManagedCluster":           {Group: "cluster.open-cluster-management.io", Version: "v1"},
		"KlusterletAddonConfig":    {Group: "agent.open-cluster-management.io", Version: "v1"},
	} {
		scheme.AddKnownTypeWithName(version.WithKind(kind), &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(version.WithKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// object is one of the cluster's, from its text in JSON.
func object(t *testing.T, text string) client.Object {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal([]byte(text), &u.Object))
	return u
}

func config(t *testing.T, kind, spec string) client.Object {
	t.Helper()
	return object(t, `{"apiVersion":"config.openshift.io/v1","kind":"`+kind+`","metadata":{"name":"cluster"},"spec":`+spec+`}`)
}

func secret(namespace, name string, data map[string]string) client.Object {
	s := &corev1.Secret{Data: map[string][]byte{}}
	s.Namespace, s.Name = namespace, name
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

// apply brings a part of a site configuration about, which is written as users write it.
func apply(t *testing.T, c client.Client, part, site string, hub reconcile.HubDialer) reconcile.Outcome {
	t.Helper()
	want, problems := siteconfig.Decode([]byte("apiVersion: " + siteconfig.APIVersion + "\nkind: " + siteconfig.Kind + "\n" + site))
	require.Empty(t, problems)
	p, found := reconcile.Find(part)
	require.True(t, found)
	out, err := (&reconcile.Reconciler{Client: runtimeclient.NewClient(c), Now: time.Now, Rand: rand.Reader, Hub: hub}).Apply(t.Context(), p, want)
	require.NoError(t, err)
	return out
}

// shows reads an object as one text, its encoded values decoded.
func shows(t *testing.T, c client.Client, version, kind, namespace, name string) string {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, u))
	u.SetResourceVersion("")
	text, err := json.Marshal(u.Object)
	require.NoError(t, err)
	said := string(text)
	for part := range strings.FieldsFuncSeq(said, func(r rune) bool { return strings.ContainsRune(`",:{}`, r) }) {
		if plain, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(part, "charset=utf-8;base64,")); err == nil && len(plain) > 4 {
			said += "\n" + string(plain)
		}
	}
	return said
}

const authority = `-----BEGIN CERTIFICATE-----
MIIByjCCAXGgAwIBAgIUFH2qQLgu4IUzHjMzPFYjlwgKrykwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKRXhhbXBsZSBDQTAgFw0yNjExMjQwNzU3NDJaGA8yMTI2MTAz
MTA3NTc0MlowFTETMBEGA1UEAwwKRXhhbXBsZSBDQTBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABAECQdr94xLEZ7TTRlTU4QKa5aFXwRQWSm3aC3+7gqOlBTOURc/m
+DZeyhbl1Ju0T6qDesq0wmW+pKK9xwxGZwqjgZwwgZkwHQYDVR0OBBYEFBRLGm9c
z/JcnauDkQuJROhn+uy7MB8GA1UdIwQYMBaAFBRLGm9cz/JcnauDkQuJROhn+uy7
MA8GA1UdEwEB/wQFMAMBAf8wRgYDVR0RBD8wPYIbYXBpLnNpdGUtMS5lZGdlLmV4
YW1wbGUub3Jngh4qLmFwcHMuc2l0ZS0xLmVkZ2UuZXhhbXBsZS5vcmcwCgYIKoZI
zj0EAwIDRwAwRAIgJpFn2vXODc+mzo2fq2yOJf88eRFG8VVs7pytVMpVbCgCIAHf
qLocvfTX4ABrdKElhSM06xg5ouRjW74fYZjdtE1c
-----END CERTIFICATE-----
`

// pem is a text in PEM as a value of JSON.
func pem(text string) string {
	data, _ := json.Marshal(text) // a string always encodes
	return string(data)
}

// What a site writes into a field stands in the cluster afterwards.
func TestFieldsOfASiteReachTheCluster(t *testing.T) {
	const quay, mirror = "quay.io/openshift", "registry.site.example.org/openshift"
	mirrors := func(field string) string {
		return field + ": [{source: " + quay + ", mirrors: [" + mirror + "], mirrorSourcePolicy: NeverContactSource}]\n"
	}
	const openshift, v1 = "config.openshift.io/v1", "v1"
	for name, k := range map[string]struct {
		part, site string
		// where the value is found afterwards
		version, kind, namespace, name string
		want                           []string
	}{
		"pullSecret": {"pull-secret", `pullSecret: '{"auths":{"registry.site":{"auth":"dTpw"}}}'`, v1, "Secret", "openshift-config", "pull-secret",
			[]string{"registry.site"}},
		"pullSecretRef": {"pull-secret", "pullSecretRef: {namespace: site, name: theirs}", v1, "Secret", "openshift-config", "pull-secret",
			[]string{"registry.theirs"}},
		"imageContentSources": {"mirrors", mirrors("imageContentSources"), openshift, "ImageDigestMirrorSet", "", "mirror-ocp",
			[]string{quay, mirror, "NeverContactSource"}},
		"imageDigestMirrors": {"mirrors", mirrors("imageDigestMirrors"), openshift, "ImageDigestMirrorSet", "", "mirror-ocp",
			[]string{quay, mirror, "NeverContactSource"}},
		"imageTagMirrors": {"mirrors", mirrors("imageTagMirrors"), openshift, "ImageTagMirrorSet", "", "mirror-ocp",
			[]string{quay, mirror, "NeverContactSource"}},
		"registryCAs": {"trust", "registryCAs: [{hostname: registry.site, port: 5000, certificate: " + pem(authority) + "}]", v1, "ConfigMap",
			"openshift-config", "lca-relocation-registry-cas", []string{`"registry.site..5000":` + pem(authority)}},
		"userCABundle": {"trust", "additionalTrust: {userCABundle: " + pem(authority) + "}", v1, "ConfigMap", "openshift-config", "user-ca-bundle",
			[]string{pem(authority)}},
		"proxyConfigMapBundle": {"trust", "additionalTrust: {proxyConfigMapName: site-ca, proxyConfigMapBundle: " + pem(authority) + "}", v1,
			"ConfigMap", "openshift-config", "site-ca", []string{pem(authority)}},
		"proxyConfigMapName": {"trust", "additionalTrust: {proxyConfigMapName: site-ca, proxyConfigMapBundle: " + pem(authority) + "}", openshift,
			"Proxy", "", "cluster", []string{`"trustedCA":{"name":"site-ca"}`}},
		"sshKeys": {"ssh-keys", "sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGo2d6MZbVnoOQGtYMbRGNZiwCNyyLGRaLMYHmOZh5fB site]",
			"machineconfiguration.openshift.io/v1", "MachineConfig", "", "core-ssh-key-master", []string{"IGo2d6MZbVnoOQGtYMbRGNZiwCNyyLGRaLMYHmOZh5fB site"}},
		"catalogSources": {"catalogs", "catalogSources: [{name: theirs, image: registry.site/catalog:v1, displayName: Theirs, publisher: Site}]",
			"operators.coreos.com/v1alpha1", "CatalogSource", "openshift-marketplace", "theirs", []string{"registry.site/catalog:v1", "Theirs", `"Site"`}},
		"ntpServers": {"time", "ntpServers: [ntp.site.example.org]", "machineconfiguration.openshift.io/v1", "MachineConfig", "",
			"99-master-lca-relocation-chrony", []string{"server ntp.site.example.org iburst"}},
		"chronyConfig": {"time", "chronyConfig: |\n  server clock.site iburst\n", "machineconfiguration.openshift.io/v1", "MachineConfig", "",
			"99-master-lca-relocation-chrony", []string{"server clock.site iburst"}},
		"httpProxy":  {"proxy", "proxy: {httpProxy: 'http://proxy.site:3128'}", openshift, "Proxy", "", "cluster", []string{`"httpProxy":"http://proxy.site:3128"`}},
		"httpsProxy": {"proxy", "proxy: {httpsProxy: 'http://proxy.site:3128', noProxy: .site}", openshift, "Proxy", "", "cluster", []string{`"httpsProxy":"http://proxy.site:3128"`, `"noProxy":".site"`}},
		"nodeLabels": {"node-labels", "nodeLabels: {example.org/site: store}", v1, "Node", "", "node", []string{`"example.org/site":"store"`}},
		"manifests": {"manifests", "manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {namespace: site, name: own}, data: {a: theirs}}]", v1, "ConfigMap", "site", "own",
			[]string{`"a":"theirs"`}},
		"importManifests": {"hub", "hub: {importManifests: [{apiVersion: v1, kind: ConfigMap, metadata: {namespace: site, name: own}, data: {a: hub}}]}", v1,
			"ConfigMap", "site", "own", []string{`"a":"hub"`}},
		"clusterID": {"cluster-id", "identity: {clusterID: 11111111-2222-4333-8444-555555555555}", openshift, "ClusterVersion", "", "version",
			[]string{"11111111-2222-4333-8444-555555555555"}},
		"domain": {"domain", "domain: shop.example.net", openshift, "Ingress", "", "cluster", []string{`"appsDomain":"apps.shop.example.net"`}},
		"certificates.api.secretRef": {"domain", "domain: shop.example.net\ncertificates: {api: {secretRef: {namespace: site, name: tls}}}", v1, "Secret",
			"openshift-config", "lca-relocation-api", []string{"their chain", "their key"}},
		"certificates.ingress.secretRef": {"domain", "domain: shop.example.net\ncertificates: {ingress: {secretRef: {namespace: site, name: tls}}}", v1, "Secret",
			"openshift-ingress", "lca-relocation-ingress", []string{"their chain", "their key"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := api(t, factory(t)...)
			apply(t, c, k.part, k.site, nil)
			said := shows(t, c, k.version, k.kind, k.namespace, k.name)
			for _, want := range k.want {
				require.Contains(t, said, want)
			}
		})
	}
}
