package cluster

import (
	"context"
	"fmt"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DnsmasqMachineConfig is the MachineConfig with which the Assisted Installer
// gives a single-node cluster its dnsmasq.
const DnsmasqMachineConfig = "50-master-dnsmasq-configuration"

// HasDnsmasqMachineConfig says whether the dnsmasq baseline is installed.
func HasDnsmasqMachineConfig(ctx context.Context, r client.Reader) (bool, error) {
	err := r.Get(ctx, client.ObjectKey{Name: DnsmasqMachineConfig}, &mcv1.MachineConfig{})
	if notServed(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get machineconfig %s: %w", DnsmasqMachineConfig, err)
	}
	return true, nil
}

// ImageBasedUpgrade is the kind of the other operation that changes which
// stateroot boots; its only object is called "upgrade".
func ImageBasedUpgrade() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "lca.openshift.io", Version: "v1", Kind: "ImageBasedUpgrade"}
}

const imageBasedUpgradeName = "upgrade"

// ImageBasedUpgradeBusy says whether an image based upgrade is using the node. A cluster without
// that kind, without the object, or with one that was never worked on, is not
// busy; nor is one that itself waits for us.
func ImageBasedUpgradeBusy(ctx context.Context, r client.Reader) (bool, error) {
	var ibu unstructured.Unstructured
	ibu.SetGroupVersionKind(ImageBasedUpgrade())
	err := r.Get(ctx, client.ObjectKey{Name: imageBasedUpgradeName}, &ibu)
	if notServed(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get imagebasedupgrade %s: %w", imageBasedUpgradeName, err)
	}
	found := conditions(ibu.Object)
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

// Serves says whether the API knows a kind in that version: its definition was installed when the mapper last looked.
func Serves(mapper meta.RESTMapper, kind schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask whether the API knows %s: %w", kind, err)
	}
	return true, nil
}

// notServed says that the API does not know the kind: its CRD is not installed, or
// was removed after the client had learnt of it (a 404 without an object).
func notServed(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}

// condition is one entry of status.conditions, as nearly every kind has it.
type condition struct {
	kind, status, reason, message string
}

func conditions(object map[string]any) []condition {
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
