package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	name      = "lifecycle-agent-ipam"
	namespace = "openshift-lifecycle-agent"
)

// owned describes the kinds, which have no description of their own that OLM would show.
var owned = map[string]string{
	"IPPool": "Ranges of addresses of one network.", "IPClaim": "A request for an address of a pool.",
	"IPAddress": "An address that a claim has.", "AddressLock": "The agent's own record of one address that is taken.",
}

// kept are the kinds that OLM takes in a bundle beside the ClusterServiceVersion; rights and the Deployment are inside that.
var kept = []string{"CustomResourceDefinition", "Service", "PodDisruptionBudget", "ClusterRole"}

// bundleOf sorts what is installed into the files of a bundle.
func bundleOf(objects []*unstructured.Unstructured, examples []map[string]any, version string) (map[string]any, error) {
	files := map[string]any{"metadata/annotations.yaml": annotations(), "Containerfile": containerfile}
	csv := newCSV(version)
	rights := map[string][]any{}
	for _, o := range objects {
		switch kind := o.GetKind(); {
		case kind == "Deployment":
			csv.deployments = append(csv.deployments, map[string]any{"name": o.GetName(), "label": labelsOf(o), "spec": o.Object["spec"]})
		case (kind == "ClusterRole" || kind == "Role") && strings.HasPrefix(o.GetName(), "lifecycle-agent-operator"):
			rights[kind] = append(rights[kind], o.Object["rules"].([]any)...)
		case slices.Contains(kept, kind):
			files["manifests/"+strings.ToLower(kind)+"-"+o.GetName()+".yaml"] = withoutNamespace(o)
		}
		if o.GetKind() == "CustomResourceDefinition" {
			csv.definitions = append(csv.definitions, definition(o)...)
		}
	}
	if len(csv.deployments) != 1 || len(rights["ClusterRole"]) == 0 || len(rights["Role"]) == 0 {
		return nil, fmt.Errorf("the manifests have %d Deployments, %d rules of ClusterRoles, %d of Roles: one Deployment and rules of both are wanted",
			len(csv.deployments), len(rights["ClusterRole"]), len(rights["Role"]))
	}
	text, err := json.MarshalIndent(examples, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the examples: %w", err)
	}
	csv.examples, csv.rights = string(text), rights
	files["manifests/"+name+".clusterserviceversion.yaml"] = csv.object()
	return files, nil
}

func labelsOf(o *unstructured.Unstructured) map[string]any {
	labels := map[string]any{}
	for k, v := range o.GetLabels() {
		labels[k] = v
	}
	return labels
}

// withoutNamespace leaves the namespace to OLM.
func withoutNamespace(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetNamespace("")
	return o.Object
}

// definition lists every served version of a kind.
func definition(o *unstructured.Unstructured) (all []any) {
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		all = append(all, map[string]any{"name": o.GetName(), "kind": kind, "version": v.(map[string]any)["name"],
			"displayName": kind, "description": owned[kind]})
	}
	return all
}

func annotations() map[string]any {
	const prefix = "operators.operatorframework.io.bundle."
	return map[string]any{"annotations": map[string]any{
		prefix + "mediatype.v1": "registry+v1", prefix + "manifests.v1": "manifests/", prefix + "metadata.v1": "metadata/",
		prefix + "package.v1": name, prefix + "channels.v1": "stable", prefix + "channel.default.v1": "stable",
	}}
}

const containerfile = `FROM scratch
LABEL operators.operatorframework.io.bundle.mediatype.v1=registry+v1
LABEL operators.operatorframework.io.bundle.manifests.v1=manifests/
LABEL operators.operatorframework.io.bundle.metadata.v1=metadata/
LABEL operators.operatorframework.io.bundle.package.v1=` + name + `
LABEL operators.operatorframework.io.bundle.channels.v1=stable
LABEL operators.operatorframework.io.bundle.channel.default.v1=stable
COPY manifests /manifests/
COPY metadata /metadata/
`
