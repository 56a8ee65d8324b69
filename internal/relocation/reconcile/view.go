package reconcile

import (
	"context"
	"encoding/base64"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// partContext is what a part derives its changes from: the wanted configuration, facts of the cluster, and the ledger.
type partContext struct {
	*Reconciler
	ctx       context.Context // a view lives for one call
	config    siteconfig.SiteConfig
	ledger    *ledger
	attention string
	// kept are places of the part that stay as they are, wanted or not.
	kept []string
}

// Namespaces of the cluster's configuration.
const (
	nsConfig  = "openshift-config"
	nsIngress = "openshift-ingress"
)

func secretRef(namespace, name string) Ref {
	return Ref{Version: "v1", Kind: "Secret", Namespace: namespace, Name: name}
}

func configMapRef(namespace, name string) Ref {
	return Ref{Version: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name}
}

// configRef is a cluster-wide object of config.openshift.io named cluster.
func configRef(kind string) Ref {
	return Ref{Group: "config.openshift.io", Version: "v1", Kind: kind, Name: "cluster"}
}

// getObject reads an object; nil where there is none, or the cluster does not serve its kind.
func (v *partContext) getObject(ref Ref) (*unstructured.Unstructured, error) {
	o := ref.newObject()
	err := v.Client.Get(v.ctx, kube.KeyOf(o), o)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", ref, err)
	}
	return o, nil
}

// readString reads a string of an object; empty where there is none.
func (v *partContext) readString(ref Ref, path ...string) (string, error) {
	o, err := v.getObject(ref)
	if err != nil || o == nil {
		return "", err
	}
	s, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", ref, err)
	}
	return s, nil
}

// readSecretKey reads a key of a Secret; an error names what is missing.
func (v *partContext) readSecretKey(ref Ref, key string) ([]byte, error) {
	text, err := v.readString(ref, "data", key)
	if err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return nil, fmt.Errorf("%s has no key %s", ref, key)
	}
	return data, nil
}

// dataChange is a change of one key of a Secret or ConfigMap, or of the object as a whole where there is none yet.
func (v *partContext) dataChange(ref Ref, key string, value any) (Change, error) {
	whole := Change{Ref: ref, Want: map[string]any{"data": map[string]any{key: value}}}
	if _, ours := v.ledger.entries[whole.placeKey()]; ours {
		return whole, nil
	}
	o, err := v.getObject(ref)
	if err != nil || o == nil {
		return whole, err
	}
	return Change{Ref: ref, Path: []string{"data", key}, Want: value}, nil
}

// originalValue is what stood at the place before the first change.
func (v *partContext) originalValue(c Change) (any, error) {
	if e, known := v.ledger.entries[c.placeKey()]; known {
		return e.Original, nil
	}
	o, err := v.getObject(c.Ref)
	if err != nil || o == nil {
		return nil, err
	}
	return c.readValue(o)
}
