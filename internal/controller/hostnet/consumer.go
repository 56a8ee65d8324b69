package hostnet

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// A BareMetalHost says in its consumerRef whom it serves. That is a Machine of OpenShift itself, but the Metal3Machine of a
// Machine of the Cluster API. The claim remembers it, since the host may run when machine and Metal3Machine are gone.

// ConsumerAnnotation, on a claim, names what hosts name as their consumer, where that is not the claim's owner: <kind>.<group>/<name>.
const ConsumerAnnotation = "ipam.lca.openshift.io/consumer"

// consumer is what a host may name.
type consumer struct{ kind, group, namespace, name string }

func (c consumer) String() string { return c.kind + "." + c.group + "/" + c.name }

// key is a consumer in the indexes: without its group, since a host need not say it.
func (c consumer) key() string { return c.kind + "/" + c.namespace + "/" + c.name }

// itself is the owner as a host would name it.
func itself(o *unstructured.Unstructured) consumer {
	gvk := o.GroupVersionKind()
	return consumer{kind: gvk.Kind, group: gvk.Group, namespace: o.GetNamespace(), name: o.GetName()}
}

// infrastructure is what a Machine of the Cluster API runs on.
func infrastructure(o *unstructured.Unstructured) (consumer, bool) {
	ref, _, _ := unstructured.NestedStringMap(o.Object, "spec", "infrastructureRef")
	group, _, _ := strings.Cut(ref["apiVersion"], "/")
	c := consumer{kind: ref["kind"], group: cmp.Or(ref["apiGroup"], group), namespace: o.GetNamespace(), name: ref["name"]}
	return c, c.kind != "" && c.name != ""
}

// remembered are the consumers that stand for the owner of a claim.
func remembered(owner consumer, c *metal3.IPClaim) []consumer {
	text := c.Annotations[ConsumerAnnotation]
	kind, name, found := strings.Cut(text, "/")
	if !found {
		return []consumer{owner}
	}
	kind, group, _ := strings.Cut(kind, ".")
	return []consumer{owner, {kind: kind, group: group, namespace: c.Namespace, name: name}}
}

// consumerOf is what a host names as its consumer; without a group where it does not say it.
func consumerOf(h *unstructured.Unstructured) (c consumer, ok bool) {
	ref, _, _ := unstructured.NestedStringMap(h.Object, "spec", "consumerRef")
	group, _, _ := strings.Cut(ref["apiVersion"], "/")
	c = consumer{kind: ref["kind"], group: group, namespace: cmp.Or(ref["namespace"], h.GetNamespace()), name: ref["name"]}
	return c, c.kind != "" && c.name != ""
}

// is says that a host's consumer is another, of which the group is known.
func (c consumer) is(known consumer) bool {
	return c.key() == known.key() && (c.group == known.group || c.group == "")
}

// consumes says whether a host names one of them as who uses it.
func consumes(h *unstructured.Unstructured, any ...consumer) bool {
	named, ok := consumerOf(h)
	return ok && slices.ContainsFunc(any, named.is)
}

// serves says whether a host serves an owner.
func serves(h, owner *unstructured.Unstructured) bool {
	if owner.GroupVersionKind() == HostKind() {
		return h.GetUID() == owner.GetUID()
	}
	named := owner.GetAnnotations()[hostAnnotation]
	if named == h.GetNamespace()+"/"+h.GetName() && owner.GetDeletionTimestamp() == nil {
		return true
	}
	if machine, ok := infrastructure(owner); ok && consumes(h, machine) {
		return true
	}
	return consumes(h, itself(owner))
}

// runs says that a host still has, or may still have, what it was given.
func (h *host) runs() bool { return h.settled() || h.state == "deprovisioning" }

// hostOf is a host as far as it is read.
func hostOf(h *unstructured.Unstructured) *host {
	state, _, _ := unstructured.NestedString(h.Object, "status", "provisioning", "state")
	out := &host{NamespacedName: types.NamespacedName{Namespace: h.GetNamespace(), Name: h.GetName()}, state: state,
		nics: nicsOf(h), roles: rolesOf(h)}
	for _, path := range [][]string{
		{"spec", "userData", "name"}, {"spec", "networkData", "name"}, {"spec", "preprovisioningNetworkDataName"},
	} {
		if name, _, _ := unstructured.NestedString(h.Object, path...); name != "" {
			out.configs = append(out.configs, name)
		}
	}
	return out
}
