package relocation

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const (
	seedsID    = "5ca1ab1e-0000-4000-8000-000000000001"
	release    = "quay.io/openshift-release-dev/ocp-release@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	ownRelease = "registry.site.example.org:5000/openshift-release-dev/ocp-release@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

var (
	version  = place{"config.openshift.io", "v1", "ClusterVersion", "", "version"}
	operator = place{"apps", "v1", "Deployment", "openshift-cluster-version", "cluster-version-operator"}
)

// node applies parts of a site's configuration as the node does, with the administrator's rights.
func (w *world) node() *reconcile.Reconciler {
	return &reconcile.Reconciler{Client: runtimeclient.NewClient(w.api), Now: w.r.Now, Rand: w.r.Direct.Rand}
}

func (w *world) apply(part string, c siteconfig.SiteConfig) reconcile.Outcome {
	w.t.Helper()
	p, found := reconcile.Find(part)
	require.True(w.t, found, part)
	out, err := w.node().Apply(w.t.Context(), p, c)
	require.NoError(w.t, err)
	return out
}

// with makes objects that a test needs beside those of the factory.
func (w *world) with(objects map[place]map[string]any) {
	w.t.Helper()
	for p, content := range objects {
		if p.namespace != "" {
			ns := place{"", "v1", "Namespace", "", p.namespace}.empty()
			require.NoError(w.t, client.IgnoreAlreadyExists(w.api.Create(w.t.Context(), ns)))
		}
		u := p.empty()
		for k, v := range content {
			u.Object[k] = v
		}
		require.NoError(w.t, w.api.Create(w.t.Context(), u), "%v", p)
		w.t.Cleanup(func() { _ = w.api.Delete(context.Background(), p.empty()) })
	}
}

func (w *world) operatedBy() {
	w.with(map[place]map[string]any{operator: {"spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"k8s-app": "cluster-version-operator"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"k8s-app": "cluster-version-operator"}},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "cluster-version-operator", "image": release,
				"args": []any{"start", "--release-image=" + release, "--v=2"}}}},
		},
	}}})
}

func (w *world) container() map[string]any {
	w.t.Helper()
	list, _, err := unstructured.NestedSlice(w.read(operator), "spec", "template", "spec", "containers")
	require.NoError(w.t, err)
	require.Len(w.t, list, 1)
	return list[0].(map[string]any)
}

func TestTheClusterGetsItsID(t *testing.T) {
	w := newWorld(t)
	w.with(map[place]map[string]any{version: {"spec": map[string]any{"clusterID": seedsID, "channel": "stable-4.22"}}})
	const own = "11111111-2222-4333-8444-555555555555"
	site := siteconfig.SiteConfig{Identity: &siteconfig.Identity{ClusterID: own}}
	require.NotEmpty(t, w.apply("cluster-id", site).Changed)
	require.Equal(t, own, w.text(version, "spec", "clusterID"))
	require.Equal(t, "stable-4.22", w.text(version, "spec", "channel"))
	require.Empty(t, w.apply("cluster-id", site).Changed, "it is in place")

	w.apply("cluster-id", siteconfig.SiteConfig{}) // a ClusterRelocation that comes later says nothing of it
	require.Equal(t, own, w.text(version, "spec", "clusterID"), "the seed's never comes back")
}

func TestTheReleaseComesFromTheSitesRegistry(t *testing.T) {
	w := newWorld(t)
	w.operatedBy()
	site := siteconfig.SiteConfig{ReleaseRegistry: "registry.site.example.org:5000"}
	w.apply("release-registry", site)
	require.Equal(t, ownRelease, w.container()["image"])
	require.Equal(t, []any{"start", "--release-image=" + ownRelease, "--v=2"}, w.container()["args"])
	before := w.version(operator)
	require.Empty(t, w.apply("release-registry", site).Changed)
	w.apply("release-registry", siteconfig.SiteConfig{})
	require.Equal(t, before, w.version(operator), "a later ClusterRelocation does not take it back")
}

// A mirror of the registry serves the image under its own name already.
func TestAMirrorStandsForTheRegistryOfTheRelease(t *testing.T) {
	w := newWorld(t)
	w.operatedBy()
	site := siteconfig.SiteConfig{ReleaseRegistry: "registry.site.example.org:5000", ImageDigestMirrors: []siteconfig.ImageMirror{
		{Source: "quay.io/openshift-release-dev/ocp-release", Mirrors: []string{"registry.site.example.org:5000/ocp"}}}}
	w.apply("mirrors", site)
	require.Empty(t, w.apply("release-registry", site).Changed)
	require.Equal(t, release, w.container()["image"])
}

func TestAReleaseThatCannotBeMovedIsRefused(t *testing.T) {
	w := newWorld(t)
	p, _ := reconcile.Find("release-registry")
	_, err := w.node().Apply(t.Context(), p, siteconfig.SiteConfig{ReleaseRegistry: "registry.site.example.org"})
	require.ErrorContains(t, err, "releaseRegistry: the cluster has no deployment/openshift-cluster-version/cluster-version-operator")
}

func TestProxyAndItsStatusAreTheSites(t *testing.T) {
	w := newWorld(t)
	spec := &siteconfig.Proxy{HTTPProxy: "http://proxy.site:3128", HTTPSProxy: "http://proxy.site:3129", NoProxy: ".site"}
	status := &siteconfig.Proxy{HTTPProxy: "http://proxy.site:3128", HTTPSProxy: "http://proxy.site:3129", NoProxy: ".site,.svc"}
	w.apply("proxy", siteconfig.SiteConfig{Proxy: spec, StatusProxy: status})
	for field, want := range map[string]string{"httpProxy": "http://proxy.site:3128", "httpsProxy": "http://proxy.site:3129"} {
		require.Equal(t, want, w.text(config("Proxy"), "spec", field))
		require.Equal(t, want, w.text(config("Proxy"), "status", field))
	}
	require.Equal(t, ".site", w.text(config("Proxy"), "spec", "noProxy"))
	require.Equal(t, ".site,.svc", w.text(config("Proxy"), "status", "noProxy"))
	require.Empty(t, w.apply("proxy", siteconfig.SiteConfig{Proxy: spec, StatusProxy: status}).Changed)

	w.apply("proxy", siteconfig.SiteConfig{})
	require.Empty(t, w.text(config("Proxy"), "spec", "httpProxy"), "the originals are back")
	require.Empty(t, w.text(config("Proxy"), "status", "httpProxy"))
}
