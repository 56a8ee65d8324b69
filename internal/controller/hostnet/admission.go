package hostnet

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/ignition"
)

// OwnersPath is the path of the webhook.
const OwnersPath = "/mutate-host-networks"

// owners has a machine name its own Secret from the moment it is created. A host is chosen and provisioned within a tenth of
// a second; metal3 waits for a Secret that is named and not there yet, and so the config cannot come too late.
type owners struct {
	reader client.Reader
	random func() string
}

// ServeOwners adds the webhook to a server. random tells Secrets apart whose machines have no name yet.
func ServeOwners(server webhook.Server, reader client.Reader, random func() string) {
	server.Register(OwnersPath, &webhook.Admission{Handler: &owners{reader, random}})
}

// Handle admits an owner that is created, with its own Secret named in it.
func (a *owners) Handle(ctx context.Context, q admission.Request) admission.Response {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(q.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read the %s: %w", q.Kind.Kind, err))
	}
	o.SetNamespace(q.Namespace)
	wanted, err := linksOf(o)
	if err != nil {
		return admission.Denied(err.Error())
	}
	if len(wanted) == 0 {
		return admission.Allowed("")
	}
	if err := a.checkBase(ctx, o); err != nil {
		return admission.Denied(err.Error())
	}
	if !a.nameSecret(o, wanted) {
		return admission.Allowed("")
	}
	text, err := json.Marshal(o)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("write the %s: %w", q.Kind.Kind, err))
	}
	return admission.PatchResponseFromRaw(q.Object.Raw, text)
}

// checkBase refuses a base config that the addresses cannot be merged into: at the boot of the host it would be too late. A
// Secret that is not there yet is taken for what it will be.
func (a *owners) checkBase(ctx context.Context, o *unstructured.Unstructured) error {
	if o.GetKind() != "Machine" {
		return nil
	}
	name := types.NamespacedName{Namespace: o.GetNamespace(), Name: baseSecret(o)}
	if name.Name == "" {
		return nil
	}
	s := &corev1.Secret{}
	if err := a.reader.Get(ctx, name, s); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read base Secret %s: %w", name, err)
	}
	base, err := baseOf(s)
	if err != nil {
		return err
	}
	if err := ignition.Supported(base); err != nil {
		return fmt.Errorf("base Secret %s: %w", name, err)
	}
	return nil
}

// nameSecret names the own Secret where the consumer of the kind reads it; false where there is nothing to name.
func (a *owners) nameSecret(o *unstructured.Unstructured, wanted []link) bool {
	own := o.GetAnnotations()[SecretAnnotation]
	if own == "" {
		own = a.newSecretName(o)
	}
	switch group := o.GroupVersionKind().Group; {
	case o.GetKind() == "Machine" && group == "machine.openshift.io":
		if base := baseSecret(o); base != "" {
			setAnnotation(o, BaseAnnotation, base)
		}
		_ = unstructured.SetNestedField(o.Object, own, "spec", "providerSpec", "value", "userData", "name")
	case o.GetKind() == "Metal3Machine" && byMAC(wanted) && !hasField(o, "spec", "networkData") && !hasField(o, "spec", "dataTemplate"):
		_ = unstructured.SetNestedField(o.Object, map[string]any{"name": own, "namespace": o.GetNamespace()}, "spec", "networkData")
	default:
		return false
	}
	setAnnotation(o, SecretAnnotation, own)
	return true
}

// newSecretName is the name of a Secret that no other owner has.
func (a *owners) newSecretName(o *unstructured.Unstructured) string {
	if name := o.GetName(); name != "" {
		return name + ownSuffix
	}
	return strings.TrimRight(o.GetGenerateName(), "-") + "-" + a.random() + ownSuffix
}

// byMAC says that a config drive finds all interfaces.
func byMAC(wanted []link) bool {
	for _, l := range wanted {
		if _, err := net.ParseMAC(l.name); err != nil && !strings.HasPrefix(l.name, rolePrefix) {
			return false
		}
	}
	return true
}

func hasField(o *unstructured.Unstructured, path ...string) bool {
	_, found, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return found
}

func setAnnotation(o *unstructured.Unstructured, key, value string) {
	all := o.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	all[key] = value
	o.SetAnnotations(all)
}
