package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// Kinds of a hub that concern one managed cluster.
func ManagedCluster() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cluster.open-cluster-management.io", Version: "v1", Kind: "ManagedCluster"}
}

// KlusterletAddonConfig is the kind that says which addons a managed cluster has. It lives in the namespace of the cluster,
// which is deleted with its ManagedCluster.
func KlusterletAddonConfig() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "agent.open-cluster-management.io", Version: "v1", Kind: "KlusterletAddonConfig"}
}

func clusterInstanceKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "siteconfig.open-cluster-management.io", Version: "v1alpha1", Kind: "ClusterInstance"}
}

// hubTimeout bounds each request to a hub.
const hubTimeout = 20 * time.Second

// HubConfig reads a kubeconfig that was handed to the agent. It must be complete in itself: the agent runs as root on the
// node, and no kubeconfig may have it read a file or run a program there.
func HubConfig(kubeconfig []byte) (*rest.Config, error) {
	// Errors of the parser may quote the document, which holds credentials.
	parsed, err := clientcmd.Load(kubeconfig)
	if err != nil || len(parsed.Clusters) == 0 {
		return nil, errors.New("it is no kubeconfig")
	}
	for _, c := range parsed.Clusters {
		if c.CertificateAuthority != "" {
			return nil, errors.New("it names a file (certificate-authority): embed the content, as 'oc config view --flatten --raw' does")
		}
	}
	for _, a := range parsed.AuthInfos {
		switch {
		case a.Exec != nil || a.AuthProvider != nil:
			return nil, errors.New("it runs a program to authenticate (exec, auth-provider): use a token or a certificate")
		case a.ClientCertificate != "" || a.ClientKey != "" || a.TokenFile != "":
			return nil, errors.New("it names a file (client-certificate, client-key, tokenFile): embed the content, " +
				"as 'oc config view --flatten --raw' does")
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*parsed, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, errors.New("its current context is not complete: it needs a server and credentials")
	}
	config.Timeout = hubTimeout
	return config, nil
}

// DialHub connects to the hub at url by a token. ca is PEM, and empty for the system's trust: the certificate is always verified.
func DialHub(_ context.Context, url string, ca []byte, token string) (kube.Client, error) {
	return kube.Connect(&rest.Config{Host: url, BearerToken: token, Timeout: hubTimeout, TLSClientConfig: rest.TLSClientConfig{CAData: ca}},
		runtime.NewScheme())
}

// HubFacts is what a hub says of one cluster.
type HubFacts struct {
	// Server is the hub's address, Cluster the name of the cluster there.
	Server, Cluster string
	// Managed: there is a ManagedCluster of that name; ID is the cluster id that it has, empty where none is known.
	Managed bool
	ID      string
	// Owners say what would create the ManagedCluster again, each with the label or annotation that shows it.
	Owners []string
	// Addons are those that must not be enabled for a seed.
	Addons []string
}

// ReadHubFacts reads them.
func ReadHubFacts(ctx context.Context, hub kube.Reader, server, cluster string) (HubFacts, error) {
	f := HubFacts{Server: server, Cluster: cluster}
	mc, err := GetManagedCluster(ctx, hub, cluster)
	if err != nil || mc == nil {
		return f, err
	}
	f.Managed, f.ID, f.Owners = true, managedID(mc), Owners(mc)
	instances, err := listObjects(ctx, hub, clusterInstanceKind())
	if err != nil && !notServed(err) {
		return f, fmt.Errorf("list the clusterinstances of the hub: %w", err)
	}
	for _, u := range instances {
		if name, _, _ := unstructured.NestedString(u.Object, "spec", "clusterName"); name == cluster {
			f.Owners = append(f.Owners, "ClusterInstance "+u.GetNamespace()+"/"+u.GetName())
		}
	}
	addons, err := listObjects(ctx, hub, schema.GroupVersionKind{Group: "addon.open-cluster-management.io", Version: "v1alpha1",
		Kind: "ManagedClusterAddOn"}, kube.Selection{Namespace: cluster})
	if err != nil && !notServed(err) {
		return f, fmt.Errorf("list the addons of cluster %s on the hub: %w", cluster, err)
	}
	for _, u := range addons {
		if strings.HasPrefix(u.GetName(), "observability") {
			f.Addons = append(f.Addons, u.GetName())
		}
	}
	return f, nil
}

// GetManagedCluster reads the cluster's object on a hub; nil where there is none.
func GetManagedCluster(ctx context.Context, hub kube.Reader, cluster string) (*unstructured.Unstructured, error) {
	mc := &unstructured.Unstructured{}
	mc.SetGroupVersionKind(ManagedCluster())
	err := hub.Get(ctx, kube.Key{Name: cluster}, mc)
	if notServed(err) {
		return nil, nil // no error: the answer is that there is none
	}
	if err != nil {
		return nil, fmt.Errorf("get managedcluster %s on the hub: %w", cluster, err)
	}
	return mc, nil
}

// managedID is the cluster id that the hub knows, from the label or the claim that OpenShift clusters have.
func managedID(mc *unstructured.Unstructured) string {
	if id := mc.GetLabels()["clusterID"]; id != "" {
		return id
	}
	claims, _, _ := unstructured.NestedSlice(mc.Object, "status", "clusterClaims")
	for _, c := range claims {
		if m, ok := c.(map[string]any); ok && m["name"] == "id.openshift.io" {
			id, _ := m["value"].(string)
			return id
		}
	}
	return ""
}

// ManagedClusterAvailable says that the hub sees the cluster; the reason otherwise.
func ManagedClusterAvailable(mc *unstructured.Unstructured) (available bool, why string) {
	for _, c := range conditionsOf(mc.Object) {
		if c.kind == "ManagedClusterConditionAvailable" {
			return c.status == "True", formatReason("not Available", c.reason, c.message)
		}
	}
	return false, "not Available (the hub has not reported yet)"
}

// ownerMarks are labels and annotations by which tools mark what they created, and would create again.
func ownerMarks() []struct{ key, tool string } {
	return []struct{ key, tool string }{
		{"argocd.argoproj.io/tracking-id", "Argo CD"},
		{"argocd.argoproj.io/instance", "Argo CD"},
		{"app.kubernetes.io/instance", "Argo CD or Helm"},
		{"argocd.argoproj.io/sync-wave", "Argo CD"},
		{"ran.openshift.io/ztp-gitops-generated", "a SiteConfig (ZTP GitOps)"},
		{"siteconfig.open-cluster-management.io/owned-by", "a ClusterInstance (SiteConfig operator)"},
		{"kustomize.toolkit.fluxcd.io/name", "Flux"},
		{"helm.toolkit.fluxcd.io/name", "Flux"},
	}
}

// Owners lists the tools that would create the object again, each with the mark that shows it.
func Owners(o kube.Object) []string {
	var found []string
	for _, m := range ownerMarks() {
		if v, ok := o.GetLabels()[m.key]; ok {
			found = append(found, fmt.Sprintf("%s (label %s=%s)", m.tool, m.key, v))
		}
		if _, ok := o.GetAnnotations()[m.key]; ok {
			found = append(found, fmt.Sprintf("%s (annotation %s)", m.tool, m.key))
		}
	}
	for _, r := range o.GetOwnerReferences() {
		if r.Kind == "ClusterInstance" || r.Kind == "SiteConfig" {
			found = append(found, fmt.Sprintf("%s %s (owner reference)", r.Kind, r.Name))
		}
	}
	slices.Sort(found)
	return found
}
