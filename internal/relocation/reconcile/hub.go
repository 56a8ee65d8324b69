package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// HubDialer opens the API of a hub. ca is PEM and empty for the system's trust; the hub's certificate is always verified.
type HubDialer func(ctx context.Context, url string, ca []byte, token string) (kube.Client, error)

var (
	managedCluster = Ref{Group: "cluster.open-cluster-management.io", Version: "v1", Kind: "ManagedCluster"}
	addonConfig    = Ref{Group: "agent.open-cluster-management.io", Version: "v1", Kind: "KlusterletAddonConfig"}
)

// hubPart is the name of the part.
const hubPart = "hub"

// hubChanges registers the cluster: the objects that the hub wants on this cluster are applied here. A hub that does not answer
// must not hold the site up.
func hubChanges(v *partContext) ([]Change, error) {
	h := v.config.Hub
	switch {
	case h == nil:
		return nil, nil
	case len(h.ImportManifests) > 0:
		return decodeManifests(h.ImportManifests)
	case h.URL == "" || v.Hub == nil:
		v.attention = "the cluster is not registered with a hub: give hub.url with a token, or hub.importManifests"
		v.kept = v.ledger.keysOf(hubPart)
		return nil, nil
	}
	list, err := v.registerCluster(h)
	if err != nil {
		v.attention = fmt.Sprintf("the cluster is not registered with the hub %s yet: %v", h.URL, err)
		v.kept = v.ledger.keysOf(hubPart) // nothing is given back while the hub is silent
		return nil, nil
	}
	return decodeManifests(list)
}

// registerCluster has the hub know the cluster, and returns the objects of its import Secret.
func (v *partContext) registerCluster(h *siteconfig.Hub) ([]json.RawMessage, error) {
	api, err := v.dialHub(h)
	if err != nil {
		return nil, err
	}
	name := h.ClusterName
	if name == "" {
		if name, err = v.readString(configRef("Infrastructure"), "status", "infrastructureName"); err != nil || name == "" {
			return nil, errors.Join(errors.New("the cluster does not say its name: give hub.clusterName"), err)
		}
	}
	there := &partContext{Reconciler: &Reconciler{Client: api}, ctx: v.ctx}
	// An account that may read the import Secret alone is enough where an administrator of the hub has made the ManagedCluster.
	created := there.createManaged(h, name)
	if created != nil && !apierrors.IsForbidden(created) {
		return nil, created
	}
	list, err := there.importManifests(name)
	if err != nil {
		return nil, errors.Join(err, created)
	}
	return list, nil
}

// dialHub opens the hub's API with the token and the authority that the site names.
func (v *partContext) dialHub(h *siteconfig.Hub) (kube.Client, error) {
	token, ca := h.Token.Reveal(), h.CABundle
	if h.SecretRef != nil {
		from := secretRef(h.SecretRef.Namespace, h.SecretRef.Name)
		if from.Namespace == "" {
			from.Namespace = nsConfig
		}
		text, err := v.readSecretKey(from, "token")
		if err != nil {
			return nil, err
		}
		token = string(text)
		// ca.crt may be missing: the hub's certificate is verified against the node's own trust then.
		if text, err := v.readSecretKey(from, "ca.crt"); err == nil && ca == "" {
			ca = string(text)
		}
	}
	api, err := v.Hub(v.ctx, h.URL, []byte(ca), token)
	if err != nil {
		return nil, fmt.Errorf("open the hub's API: %w", err)
	}
	return api, nil
}

// importManifests reads the import Secret that the hub makes for the cluster.
func (v *partContext) importManifests(name string) (all []json.RawMessage, err error) {
	for _, key := range []string{"crds.yaml", "import.yaml"} {
		text, err := v.readSecretKey(secretRef(name, name+"-import"), key)
		if err != nil {
			return nil, fmt.Errorf("%w for the hub to make the import Secret %s/%s-import: %w", ErrWaiting, name, name, err)
		}
		docs, err := splitDocuments(text)
		if err != nil {
			return nil, fmt.Errorf("read %s of the import Secret: %w", key, err)
		}
		all = append(all, docs...)
	}
	return all, nil
}

// createManaged creates what the hub knows of this cluster, where it does not yet.
func (v *partContext) createManaged(h *siteconfig.Hub, name string) error {
	managed := managedCluster
	managed.Name = name
	o := managed.newObject()
	if h.ManagedClusterSet != "" {
		o.SetLabels(map[string]string{"cluster.open-cluster-management.io/clusterset": h.ManagedClusterSet})
	}
	_ = unstructured.SetNestedField(o.Object, true, "spec", "hubAcceptsClient")
	if err := kube.IgnoreAlreadyExists(v.Client.Create(v.ctx, o)); err != nil {
		return fmt.Errorf("create ManagedCluster %s on the hub: %w", name, err)
	}
	if len(h.KlusterletAddonConfig) == 0 {
		return nil
	}
	addons := addonConfig
	addons.Namespace, addons.Name = name, name
	a := addons.newObject()
	var spec map[string]any
	if err := json.Unmarshal(h.KlusterletAddonConfig, &spec); err != nil {
		return fmt.Errorf("read klusterletAddonConfig: %w", err)
	}
	a.Object["spec"] = normalizeIntegers(spec)
	if err := kube.IgnoreAlreadyExists(v.Client.Create(v.ctx, a)); err != nil {
		return fmt.Errorf("create KlusterletAddonConfig %s on the hub: %w", name, err)
	}
	return nil
}

// splitDocuments splits a YAML stream.
func splitDocuments(text []byte) (out []json.RawMessage, err error) {
	dec := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(text)), 4096)
	for {
		var doc json.RawMessage
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if len(doc) > 0 && string(doc) != "null" {
			out = append(out, doc)
		}
	}
}
