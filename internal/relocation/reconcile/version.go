package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func versionRef() Ref {
	ref := configRef("ClusterVersion")
	ref.Name = "version"
	return ref
}

// versionOperator runs the release that the cluster is at.
func versionOperator() Ref {
	return Ref{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "openshift-cluster-version", Name: "cluster-version-operator"}
}

// clusterIDChanges is what hubs, updates and telemetry tell clusters apart by. The former one belongs to another cluster and never
// comes back.
func clusterIDChanges(v *partContext) ([]Change, error) {
	if v.config.Identity == nil || v.config.Identity.ClusterID == "" {
		return nil, nil
	}
	return []Change{{Ref: versionRef(), Path: []string{"spec", "clusterID"}, Want: v.config.Identity.ClusterID, Final: true}}, nil
}

// releaseImage is the argument by which the operator learns which release it runs.
const releaseImage = "--release-image="

// releaseRegistryChanges has the operator of the cluster's version pull its release from the site's registry. Where a mirror of the cluster
// stands for the registry that it names, the nodes pull from the mirror already, and the name stays.
func releaseRegistryChanges(v *partContext) ([]Change, error) {
	want := v.config.ReleaseRegistry
	if want == "" {
		return nil, nil
	}
	o, err := v.getObject(versionOperator())
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fmt.Errorf("releaseRegistry: the cluster has no %s, which names the release image", versionOperator())
	}
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(o.Object, path...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", versionOperator(), err)
	}
	for _, entry := range containers {
		c, _ := entry.(map[string]any)
		image, _ := c["image"].(string)
		name, _ := c["name"].(string)
		former, _, found := strings.Cut(image, "/")
		if name == "" || !found || !movesContainer(c, want) {
			continue
		}
		mirrored, err := v.isMirrored(former)
		if err != nil || mirrored {
			return nil, err
		}
		return []Change{{Ref: versionOperator(), Path: path, Match: map[string]string{"name": name}, Want: c, Final: true}}, nil
	}
	return nil, nil
}

// movesContainer changes the registry of image and release argument; false where both are from there already.
func movesContainer(c map[string]any, registry string) (changed bool) {
	image, _ := c["image"].(string)
	moved := moveImage(image, registry)
	changed, c["image"] = moved != image, moved
	args, _ := c["args"].([]any)
	for i, a := range args {
		text, _ := a.(string)
		if former, ok := strings.CutPrefix(text, releaseImage); ok {
			args[i] = releaseImage + moveImage(former, registry)
			changed = changed || args[i] != text
		}
	}
	return changed
}

// moveImage replaces the registry of an image; one that is below the registry already stays.
func moveImage(image, registry string) string {
	_, rest, found := strings.Cut(image, "/")
	if !found || strings.HasPrefix(image, registry+"/") {
		return image
	}
	return registry + "/" + rest
}

// isMirrored says whether the cluster pulls images by digest of the registry from elsewhere.
func (v *partContext) isMirrored(registry string) (bool, error) {
	for _, kind := range []struct {
		ref   Ref
		field string
	}{
		{Ref{Group: "config.openshift.io", Version: "v1", Kind: "ImageDigestMirrorSet"}, "imageDigestMirrors"},
		{Ref{Group: "operator.openshift.io", Version: "v1alpha1", Kind: "ImageContentSourcePolicy"}, "repositoryDigestMirrors"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.ref.gvk())
		if err := v.Client.List(v.ctx, list); err != nil {
			if notServed(err) {
				continue
			}
			return false, fmt.Errorf("list %s: %w", strings.ToLower(kind.ref.Kind), err)
		}
		for _, o := range list.Items {
			entries, _, _ := unstructured.NestedSlice(o.Object, "spec", kind.field)
			if slices.ContainsFunc(entries, func(e any) bool { return sourceIs(e, registry) }) {
				return true, nil
			}
		}
	}
	return false, nil
}

func sourceIs(entry any, registry string) bool {
	m, _ := entry.(map[string]any)
	source, _ := m["source"].(string)
	of, _, _ := strings.Cut(source, "/")
	return of == registry
}
