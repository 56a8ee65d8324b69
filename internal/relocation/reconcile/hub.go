package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// HubDialer opens the API of a hub. ca is PEM and empty for the system's trust; the hub's certificate is always verified.
type HubDialer func(ctx context.Context, url string, ca []byte, token string) (client.Client, error)

var (
	managedCluster = Ref{Group: "cluster.open-cluster-management.io", Version: "v1", Kind: "ManagedCluster"}
	addonConfig    = Ref{Group: "agent.open-cluster-management.io", Version: "v1", Kind: "KlusterletAddonConfig"}
)

// hub registers the cluster: the objects that the hub wants on this cluster are applied here. A hub that does not answer
// must not hold the site up.
func hub(v *view) ([]Change, error) {
	h := v.config.Hub
	switch {
	case h == nil:
		return nil, nil
	case len(h.ImportManifests) > 0:
		return objects(h.ImportManifests)
	case h.URL == "" || v.Hub == nil:
		v.attention = "the cluster is not registered with a hub: give hub.url with a token, or hub.importManifests"
		return v.kept("hub")
	}
	list, err := v.register(h)
	if err != nil {
		v.attention = fmt.Sprintf("the cluster is not registered with the hub %s yet: %v", h.URL, err)
		return v.kept("hub")
	}
	return objects(list)
}

// kept repeats what the part has changed so far, so that nothing is given back while the hub is silent.
func (v *view) kept(part string) (out []Change, err error) {
	for _, key := range v.ledger.of(part) {
		out = append(out, v.ledger.entries[key].Change)
	}
	return out, nil
}

// register creates the ManagedCluster on the hub and returns the objects of its import Secret.
func (v *view) register(h *siteconfig.Hub) ([]json.RawMessage, error) {
	token, err := v.hubToken(h)
	if err != nil {
		return nil, err
	}
	api, err := v.Hub(v.ctx, h.URL, []byte(h.CABundle), token)
	if err != nil {
		return nil, fmt.Errorf("open the hub's API: %w", err)
	}
	name := h.ClusterName
	if name == "" {
		if name, err = v.text(configRef("Infrastructure"), "status", "infrastructureName"); err != nil || name == "" {
			return nil, errors.Join(errors.New("the cluster does not say its name: give hub.clusterName"), err)
		}
	}
	hubView := &view{Reconciler: &Reconciler{Client: api}, ctx: v.ctx}
	if err := hubView.createManaged(h, name); err != nil {
		return nil, err
	}
	var all []json.RawMessage
	for _, key := range []string{"crds.yaml", "import.yaml"} {
		text, err := hubView.secret(secretRef(name, name+"-import"), key)
		if err != nil {
			return nil, fmt.Errorf("%w for the hub to make the import Secret %s/%s-import", ErrWaiting, name, name)
		}
		docs, err := documents(text)
		if err != nil {
			return nil, fmt.Errorf("read %s of the import Secret: %w", key, err)
		}
		all = append(all, docs...)
	}
	return all, nil
}

func (v *view) hubToken(h *siteconfig.Hub) (string, error) {
	if h.SecretRef == nil {
		return h.Token.Reveal(), nil
	}
	from := secretRef(h.SecretRef.Namespace, h.SecretRef.Name)
	if from.Namespace == "" {
		from.Namespace = nsConfig
	}
	token, err := v.secret(from, "token")
	return string(token), err
}

// createManaged creates what the hub knows of this cluster, where it does not yet.
func (v *view) createManaged(h *siteconfig.Hub, name string) error {
	managed := managedCluster
	managed.Name = name
	o := managed.empty()
	if h.ManagedClusterSet != "" {
		o.SetLabels(map[string]string{"cluster.open-cluster-management.io/clusterset": h.ManagedClusterSet})
	}
	_ = unstructured.SetNestedField(o.Object, true, "spec", "hubAcceptsClient")
	if err := client.IgnoreAlreadyExists(v.Client.Create(v.ctx, o)); err != nil {
		return fmt.Errorf("create ManagedCluster %s on the hub: %w", name, err)
	}
	if len(h.KlusterletAddonConfig) == 0 {
		return nil
	}
	addons := addonConfig
	addons.Namespace, addons.Name = name, name
	a := addons.empty()
	var spec map[string]any
	if err := json.Unmarshal(h.KlusterletAddonConfig, &spec); err != nil {
		return fmt.Errorf("read klusterletAddonConfig: %w", err)
	}
	a.Object["spec"] = integers(spec)
	if err := client.IgnoreAlreadyExists(v.Client.Create(v.ctx, a)); err != nil {
		return fmt.Errorf("create KlusterletAddonConfig %s on the hub: %w", name, err)
	}
	return nil
}

// documents splits a YAML stream.
func documents(text []byte) (out []json.RawMessage, err error) {
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
