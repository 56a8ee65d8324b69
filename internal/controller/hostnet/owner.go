package hostnet

import (
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

// links reads the annotation.
func links(o *unstructured.Unstructured) (out []link, err error) {
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

// settled says that a host runs what it was given, or is about to: what it was given must not change.
func (h *host) settled() bool {
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
