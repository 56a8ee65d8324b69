// Package cluster answers questions about the cluster from its API: which node it is, what addresses and networks it has,
// whether it is healthy, and what recert needs to know before the API goes away.
//
// The operator calls it in every reconciliation, lca-cli before it stops the cluster. Every function takes a kube.Reader,
// cached or not, built on the scheme of AddToScheme, and only reads. The package must not import host ports, controllers or
// the flow engine.
package cluster

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// AddToScheme registers every typed kind that this package reads. Kinds of
// optional operators (SR-IOV, OADP, OLM) are read without types.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, certificatesv1.AddToScheme, configv1.Install, mcv1.Install} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("register cluster kinds: %w", err)
		}
	}
	return nil
}

// DnsmasqMachineConfig is the MachineConfig with which the Assisted Installer
// sets up dnsmasq on a single-node cluster.
const DnsmasqMachineConfig = "50-master-dnsmasq-configuration"

// HasDnsmasqMachineConfig says whether the dnsmasq baseline is installed.
func HasDnsmasqMachineConfig(ctx context.Context, r kube.Reader) (bool, error) {
	err := r.Get(ctx, kube.Key{Name: DnsmasqMachineConfig}, &mcv1.MachineConfig{})
	if notServed(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get machineconfig %s: %w", DnsmasqMachineConfig, err)
	}
	return true, nil
}

// ImageBasedUpgrade is the kind of the other operation that changes which stateroot boots. Its only object is "upgrade".
func ImageBasedUpgrade() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "lca.openshift.io", Version: "v1", Kind: "ImageBasedUpgrade"}
}

const imageBasedUpgradeName = "upgrade"

// ImageBasedUpgradeBusy says whether an image based upgrade is using the node. It is not where the kind or the object is
// missing, the object has no conditions yet, or it is itself blocked by this product.
func ImageBasedUpgradeBusy(ctx context.Context, r kube.Reader) (bool, error) {
	var ibu unstructured.Unstructured
	ibu.SetGroupVersionKind(ImageBasedUpgrade())
	err := r.Get(ctx, kube.Key{Name: imageBasedUpgradeName}, &ibu)
	if notServed(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get imagebasedupgrade %s: %w", imageBasedUpgradeName, err)
	}
	found := conditionsOf(ibu.Object)
	if len(found) == 0 {
		return false, nil
	}
	for _, c := range found {
		if c.kind == "Idle" {
			return c.status != "True" && c.reason != "Blocked", nil
		}
	}
	return true, nil
}

// Serves says whether the API serves a kind in that version, as far as the mapper has discovered.
func Serves(mapper meta.RESTMapper, kind schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("discover kind %s: %w", kind, err)
	}
	return true, nil
}

// Paused says whether a Cluster of the Cluster API pauses reconciliation of its objects. A missing Cluster, or a missing
// Cluster API, pauses nothing.
func Paused(ctx context.Context, from kube.Reader, name types.NamespacedName) (bool, error) {
	if name.Name == "" {
		return false, nil
	}
	for _, version := range []string{"v1beta2", "v1beta1"} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "cluster.x-k8s.io", Version: version, Kind: "Cluster"})
		err := from.Get(ctx, name, o)
		if meta.IsNoMatchError(err) {
			continue
		}
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("get cluster %s: %w", name, err)
		}
		_, annotated := o.GetAnnotations()[metal3.PausedAnnotation]
		yes, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
		return yes || annotated, nil
	}
	return false, nil
}

// notServed says that the kind or the object is missing: a CRD that was removed after discovery answers 404 too.
func notServed(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}

// condition is one entry of status.conditions, as nearly every kind has it.
type condition struct {
	kind, status, reason, message string
}

func conditionsOf(object map[string]any) []condition {
	list, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	var out []condition
	for _, entry := range list {
		m, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { s, _ := m[key].(string); return s }
		out = append(out, condition{text("type"), text("status"), text("reason"), text("message")})
	}
	return out
}
