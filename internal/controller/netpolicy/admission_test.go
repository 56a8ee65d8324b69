package netpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

// reviewPolicies has the API server ask about the world's policies as config/webhook says, and an operator answer, over TLS. It returns
// once the webhook is asked.
func (w *world) reviewPolicies() {
	w.t.Helper()
	at, authority := apitest.ServeWebhooks(w.t, func(server webhook.Server) { ServeReview(server, w.api, time.Now) })
	text, err := os.ReadFile("../../../config/webhook/networkpolicies.yaml")
	require.NoError(w.t, err)
	asks := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	require.NoError(w.t, yaml.UnmarshalStrict(text, asks))
	hook := &asks.Webhooks[0]
	where, err := url.JoinPath(at, *hook.ClientConfig.Service.Path)
	require.NoError(w.t, err)
	asks.Name, hook.ClientConfig = w.name+".review", admissionregistrationv1.WebhookClientConfig{URL: &where, CABundle: authority}
	// Another world's policies, and an answer that is late on a busy machine, are none of this test's.
	patient := int32(30)
	hook.TimeoutSeconds = &patient
	hook.MatchConditions = []admissionregistrationv1.MatchCondition{
		{Name: "mine", Expression: fmt.Sprintf("object.metadata.name.startsWith('%s-')", w.name)}}
	require.NoError(w.t, w.api.Create(w.t.Context(), asks))
	w.t.Cleanup(func() { require.NoError(w.t, w.api.Delete(context.Background(), asks)) })
	w.eventually(func() bool {
		return w.api.Create(w.t.Context(), w.unsaved("probe", `{"interfaces":[{"name":"a","mtuu":1}]}`), client.DryRunAll) != nil
	}, func() string { return "the webhook is asked" })
}

func (w *world) unsaved(name, document string) *nmstatev1.NodeNetworkConfigurationPolicy {
	p := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + name}}
	p.Spec.NodeSelector = map[string]string{"world": w.name}
	p.Spec.DesiredState = &runtime.RawExtension{Raw: []byte(document)}
	return p
}

// TestADocumentIsRefusedAtAdmission with the path of the key, in both versions of the kind.
func TestADocumentIsRefusedAtAdmission(t *testing.T) {
	w := newWorld(t, 1)
	old := w.unsaved("old", `{"interfaces":[{"name":"eth1","mtuu":1400}]}`)
	require.NoError(t, w.api.Create(t.Context(), old)) // from when no webhook was there
	t.Cleanup(func() { _ = w.api.Delete(context.Background(), old) })
	w.reviewPolicies()
	routes := strings.Repeat(`{"destination":"::/0"},`, 20_000) + `{"destination":"::/0"}`
	for name, c := range map[string]struct{ document, want string }{
		"key":     {`{"interfaces":[{"name":"eth1","mtuu":1400}]}`, `spec.desiredState.interfaces[eth1].mtuu: unknown key`},
		"meaning": {`{"routes":{"config":[{"destination":"x"}]}}`, `spec.desiredState.routes.config[0]: `},
		"value":   {`{"interfaces":[{"name":"eth1","mtu":"{{ values.mtu }}"}]}`, `spec.desiredState.interfaces[eth1].mtu: spec.templateValues has no value "mtu"`},
		"hostile": {`{"routes":{"config":[` + routes + `]}}`, `spec.desiredState.routes.config: 20001 entries`},
		"large":   {`{"interfaces":[{"name":"` + strings.Repeat("x", 1<<20) + `"}]}`, "are the most that is taken"},
	} {
		t.Run(name, func(t *testing.T) {
			p := w.unsaved("p", c.document)
			require.ErrorContains(t, w.api.Create(t.Context(), p), c.want)
			require.ErrorContains(t, w.api.Create(t.Context(), older(t, p)), c.want)
		})
	}
	good := w.unsaved("good", `{"interfaces":[{"name":"eth1","mtu":1400}]}`)
	require.NoError(t, w.api.Create(t.Context(), good, client.DryRunAll))

	w.annotate(old, "note", "labels and annotations can be edited all the same")
	edited := w.get(old)
	before := edited.DeepCopy()
	edited.Spec.DesiredState.Raw = []byte(`{"interfaces":[{"name":"eth1","mtuuu":1400}]}`)
	require.ErrorContains(t, w.api.Patch(t.Context(), edited, client.MergeFrom(before), client.DryRunAll), "mtuuu")
}

// TestWhileKubernetesNmstateServesItsDocumentsAreAdmitted, with warnings: it knows keys that this product does not.
func TestWhileKubernetesNmstateServesItsDocumentsAreAdmitted(t *testing.T) {
	w := newWorld(t, 1)
	labels := map[string]string{nmstatev1.HandlerLabelKey: nmstatev1.HandlerLabelValue}
	handler := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: w.name, Labels: labels},
		Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	d := &documents{reader: w.api, now: time.Now}
	require.False(t, d.servedByPeer(t.Context()))
	require.NoError(t, w.api.Create(t.Context(), handler))
	t.Cleanup(func() { _ = w.api.Delete(context.Background(), handler) })
	d = &documents{reader: w.api, now: time.Now}
	require.True(t, d.servedByPeer(t.Context()))
	answer := d.Handle(t.Context(), create(t, w.unsaved("p", `{"interfaces":[{"name":"eth1","mtuu":1400}]}`)))
	require.True(t, answer.Allowed)
	require.Len(t, answer.Warnings, 1)
	require.Contains(t, answer.Warnings[0], "Lifecycle Agent will refuse spec.desiredState.interfaces[eth1].mtuu")
}

// older is the policy in the version before.
func older(t *testing.T, p *nmstatev1.NodeNetworkConfigurationPolicy) *unstructured.Unstructured {
	t.Helper()
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: all}
	u.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("NodeNetworkConfigurationPolicy"))
	return u
}

func create(t *testing.T, p *nmstatev1.NodeNetworkConfigurationPolicy) (q admission.Request) {
	t.Helper()
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	q.Operation, q.Object.Raw = admissionv1.Create, raw
	return q
}
