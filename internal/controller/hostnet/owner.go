package hostnet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// Annotations and names that belong to the contract of this controller.
const (
	// NetworksAnnotation, on an owner, says which interface is on which pools.
	NetworksAnnotation = "ipam.lca.openshift.io/networks"
	// FormAnnotation, on an owner, chooses how the host learns its addresses: keyfile or nmstate.
	FormAnnotation = "ipam.lca.openshift.io/network-form"
	// BaseAnnotation, on an owner, names the Secret of the base config, where the owner itself does not.
	BaseAnnotation = "ipam.lca.openshift.io/base-user-data"
	// SecretAnnotation, on an owner, names its own Secret; admission sets it, since a name may not be given before. Without it the
	// Secret is named after the owner.
	SecretAnnotation = "ipam.lca.openshift.io/own-user-data"
	// InterfaceLabel, on a claim, names the interface.
	InterfaceLabel = metal3.InterfaceLabel
	// OwnerLabel, on a claim, names its owner, to find claims of an owner that is gone.
	OwnerLabel = "ipam.lca.openshift.io/owner"
	// Finalizer, on a claim, keeps its address until the host is deprovisioned.
	Finalizer = "ipam.lca.openshift.io/host"
	// hostAnnotation, on machines of either API, names the BareMetalHost that serves them.
	hostAnnotation = "metal3.io/BareMetalHost"
)

// Kinds of owners, those of the newest version first.
func Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "machine.openshift.io", Version: "v1beta1", Kind: "Machine"},
		{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Machine"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "Metal3Machine"},
		{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "Metal3Machine"},
		HostKind(),
	}
}

// HostKind is metal3's host.
func HostKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"}
}

// link is one interface of an owner and the pools that its addresses are from.
type link struct {
	name  string // or MAC address, or role
	pools []string
}

// linksOf reads the annotation.
func linksOf(o *unstructured.Unstructured) (out []link, err error) {
	text := o.GetAnnotations()[NetworksAnnotation]
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, pools, found := strings.Cut(part, "=")
		l := link{name: strings.TrimSpace(name)}
		for p := range strings.SplitSeq(pools, "+") {
			if p = strings.TrimSpace(p); p != "" {
				l.pools = append(l.pools, p)
			}
		}
		if !found || l.name == "" || len(l.pools) == 0 {
			return nil, fmt.Errorf("annotation %s: %q is not of the form interface=pool or interface=pool+pool", NetworksAnnotation, part)
		}
		out = append(out, l)
	}
	return out, nil
}

// claimName is the name of a claim, the same whenever it is asked for.
func claimName(owner string, l link, pool string) string {
	iface := strings.Replace(l.name, rolePrefix, "role-", 1)
	return strings.ToLower(owner + "-" + strings.NewReplacer(":", "", ".", "-", "_", "-").Replace(iface) + "-" + pool)
}

// ownerLabel is the value of OwnerLabel; short, since labels are.
func ownerLabel(gvk schema.GroupVersionKind, name string) string {
	text := gvk.Kind + "." + name
	if len(text) > 63 {
		text = text[:63]
	}
	return strings.TrimRight(text, "-._")
}

// host is the BareMetalHost that serves an owner.
type host struct {
	types.NamespacedName
	state string
	// configs are the Secrets that it is, or will be, provisioned with.
	configs []string
	// nics are its interfaces as inspection found them; roles are those that its annotation names.
	nics  []nic
	roles map[string]string
}

// isProvisioned says that a host runs what it was given, or is about to: what it was given must not change.
func (h *host) isProvisioned() bool {
	return h != nil && slices.Contains([]string{"provisioning", "provisioned", "externally provisioned"}, h.state)
}

// baseSecret names the Secret of the base config.
func baseSecret(o *unstructured.Unstructured) string {
	if name := o.GetAnnotations()[BaseAnnotation]; name != "" {
		return name
	}
	for _, path := range [][]string{
		{"spec", "providerSpec", "value", "userData", "name"}, {"spec", "bootstrap", "dataSecretName"}, {"spec", "userData", "name"},
	} {
		if name, _, _ := unstructured.NestedString(o.Object, path...); name != "" && name != secretName(o) {
			return name
		}
	}
	return ""
}

// secretName names the owner's own Secret.
func secretName(o *unstructured.Unstructured) string {
	if name := o.GetAnnotations()[SecretAnnotation]; name != "" {
		return name
	}
	return o.GetName() + ownSuffix
}

// ownSuffix ends the name of an owner's own Secret.
const ownSuffix = "-host-user-data"

// A BareMetalHost says in its consumerRef whom it serves. That is a Machine of OpenShift itself, but the Metal3Machine of a
// Machine of the Cluster API. The claim remembers it, since the host may run when machine and Metal3Machine are gone.

// ConsumerAnnotation, on a claim, names what hosts name as their consumer, where that is not the claim's owner: <kind>.<group>/<name>.
const ConsumerAnnotation = "ipam.lca.openshift.io/consumer"

// consumer is what a host may name.
type consumer struct{ kind, group, namespace, name string }

func (c consumer) String() string { return c.kind + "." + c.group + "/" + c.name }

// indexKey is a consumer in the indexes: without its group, since a host need not say it.
func (c consumer) indexKey() string { return c.kind + "/" + c.namespace + "/" + c.name }

// asConsumer names the owner as a host would name it.
func asConsumer(o *unstructured.Unstructured) consumer {
	gvk := o.GroupVersionKind()
	return consumer{kind: gvk.Kind, group: gvk.Group, namespace: o.GetNamespace(), name: o.GetName()}
}

// infrastructureOf is what a Machine of the Cluster API runs on.
func infrastructureOf(o *unstructured.Unstructured) (consumer, bool) {
	ref, _, _ := unstructured.NestedStringMap(o.Object, "spec", "infrastructureRef")
	group, _, _ := strings.Cut(ref["apiVersion"], "/")
	c := consumer{kind: ref["kind"], group: cmp.Or(ref["apiGroup"], group), namespace: o.GetNamespace(), name: ref["name"]}
	return c, c.kind != "" && c.name != ""
}

// rememberedConsumers are the consumers that stand for the owner of a claim.
func rememberedConsumers(owner consumer, c *metal3.IPClaim) []consumer {
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

// matches says that a host's consumer is another, of which the group is known.
func (c consumer) matches(known consumer) bool {
	return c.indexKey() == known.indexKey() && (c.group == known.group || c.group == "")
}

// namesConsumer says whether a host names one of them as who uses it.
func namesConsumer(h *unstructured.Unstructured, any ...consumer) bool {
	named, ok := consumerOf(h)
	return ok && slices.ContainsFunc(any, named.matches)
}

// servesOwner says whether a host serves an owner.
func servesOwner(h, owner *unstructured.Unstructured) bool {
	if owner.GroupVersionKind() == HostKind() {
		return h.GetUID() == owner.GetUID()
	}
	named := owner.GetAnnotations()[hostAnnotation]
	if named == h.GetNamespace()+"/"+h.GetName() && owner.GetDeletionTimestamp() == nil {
		return true
	}
	if machine, ok := infrastructureOf(owner); ok && namesConsumer(h, machine) {
		return true
	}
	return namesConsumer(h, asConsumer(owner))
}

// isRunning says that a host still has, or may still have, what it was given.
func (h *host) isRunning() bool { return h.isProvisioned() || h.state == "deprovisioning" }

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
