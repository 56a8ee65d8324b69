package reconcile

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RequiredAnnotation, with the value "true", marks a manifest without which the site is not to run.
const RequiredAnnotation = "relocation.lca.openshift.io/required"

func manifestChanges(v *partContext) ([]Change, error) { return decodeManifests(v.config.Manifests) }

// decodeManifests are manifests as changes, in the order in which they are applied.
func decodeManifests(list []json.RawMessage) (out []Change, err error) {
	var all []map[string]any
	for i, raw := range list {
		var o map[string]any
		if err := json.Unmarshal(raw, &o); err != nil || o == nil {
			return nil, errors.Join(fmt.Errorf("manifest %d is not an object", i+1), err)
		}
		all = append(all, itemsOf(o)...)
	}
	seen := map[string]bool{}
	for _, o := range all {
		c := changeOf(o)
		id := strings.ToLower(c.Ref.Group) + "/" + c.Ref.String() // versions of a kind are one object
		switch {
		case c.Ref.Kind == "" || c.Ref.Version == "" || c.Ref.Name == "":
			c.fault = errors.New("it needs apiVersion, kind and metadata.name")
		case seen[id]:
			c.fault = errors.New("it is given more than once: merge the manifests")
		}
		seen[id] = true
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Change) int { return installRank(a.Ref.Kind) - installRank(b.Ref.Kind) })
	return out, nil
}

// itemsOf are the objects of a List, or the object itself.
func itemsOf(o map[string]any) (out []map[string]any) {
	items, isList := o["items"].([]any)
	if kind, _ := o["kind"].(string); !isList || !strings.HasSuffix(kind, "List") {
		return []map[string]any{o}
	}
	for _, i := range items {
		if m, ok := i.(map[string]any); ok {
			out = append(out, itemsOf(m)...)
		}
	}
	return out
}

// changeOf is one object as a change, without what an API server keeps of an object: a manifest may be one that was exported.
func changeOf(o map[string]any) Change {
	delete(o, "status")
	for _, kept := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(o, "metadata", kept)
	}
	normalizeIntegers(o)
	u := &unstructured.Unstructured{Object: o}
	gvk := u.GroupVersionKind()
	if gvk.Group == "" && gvk.Kind == "Secret" {
		mergeStringData(o)
	}
	return Change{
		Ref:      Ref{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()},
		Manifest: u,
	}
}

// mergeStringData writes stringData as data. An API server stores data alone: what it is given as stringData is in no list of
// fields that someone owns, and stays when the manifest no longer has it.
func mergeStringData(secret map[string]any) {
	text, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, _ := secret["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range text {
		s, ok := v.(string)
		if !ok {
			return // the API server refuses it
		}
		data[k] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	secret["data"] = data
	delete(secret, "stringData")
}

// installOrder lists the kinds that others need, and those that need others. A kind that is not listed, such as one that a
// CustomResourceDefinition defines, comes in the place of "".
func installOrder() []string {
	return []string{
		"Namespace", "Project", "CustomResourceDefinition", "PriorityClass", "ResourceQuota", "LimitRange", "NetworkPolicy",
		"ServiceAccount", "Secret", "ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim",
		"SecurityContextConstraints", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
		"Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment", "StatefulSet", "Job", "CronJob",
		"HorizontalPodAutoscaler", "PodDisruptionBudget", "IngressClass", "Ingress", "Route",
		"",
		"APIService", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
	}
}

func installRank(kind string) int {
	order := installOrder()
	if i := slices.Index(order, kind); i >= 0 && kind != "" {
		return i
	}
	return slices.Index(order, "")
}
