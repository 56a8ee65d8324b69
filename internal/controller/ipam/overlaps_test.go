package ipam

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

// refuseOverlaps has the API server ask about the world's pools, and an operator answer, over TLS.
func (w *world) refuseOverlaps() {
	w.t.Helper()
	at, authority := apitest.ServeWebhooks(w.t, func(server webhook.Server) { ServeOverlaps(server, w.api, w.server.Scheme) })
	asks := w.asks(at+OverlapsPath, authority)
	require.NoError(w.t, w.api.Create(w.t.Context(), asks))
	w.t.Cleanup(func() { require.NoError(w.t, w.api.Delete(context.Background(), asks)) })
}

func (w *world) asks(url string, ca []byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "overlaps.ipam.lca.openshift.io", FailurePolicy: &fail, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"ipam.metal3.io"}, APIVersions: []string{"*"}, Resources: []string{"ippools"}},
			}}}}}
}

// With the webhook, a pool that meets another of its network is refused when it is applied, with a sentence that says where.
func TestOverlapIsRefusedWhenApplied(t *testing.T) {
	w := newWorld(t)
	before := w.pool("before", between(100, 120))
	w.pool("beside", between(110, 130)) // both from when nobody refused it
	w.refuseOverlaps()
	made := func(name string, change func(*metal3.IPPoolSpec)) *metal3.IPPool {
		p := &metal3.IPPool{ObjectMeta: w.meta(name), Spec: metal3.IPPoolSpec{NamePrefix: name, Network: w.network, Prefix: 24}}
		change(&p.Spec)
		return p
	}
	w.eventually(func() bool { // the server takes a moment to know whom to ask
		return w.api.Create(t.Context(), made("probe", between(105, 106)), client.DryRunAll) != nil
	}, "the webhook is asked")
	err := w.api.Create(t.Context(), made("p", between(90, 100)))
	require.ErrorContains(t, err, "pool "+w.namespace+"/p: 192.0.2.90-192.0.2.100 overlaps 192.0.2.100-192.0.2.120 of pool "+w.namespace+"/before at 192.0.2.100")
	require.ErrorContains(t, err, "another spec.network")
	err = w.api.Create(t.Context(), made("p", func(s *metal3.IPPoolSpec) {
		between(1, 9)(s)
		s.DHCPRange = &metal3.DHCPRange{Start: "192.0.2.50", End: "192.0.2.101"}
	}))
	require.ErrorContains(t, err, "DHCP range")

	p := w.pool("p", between(1, 9))
	require.NoError(t, w.api.Create(t.Context(), made("elsewhere", func(s *metal3.IPPoolSpec) { between(1, 9)(s); s.Network = w.network + "-b" })))
	p.Spec.Pools = append(p.Spec.Pools, span(99, 105))
	require.ErrorContains(t, w.api.Update(t.Context(), p), "overlaps")
	change(w, before, func(p *metal3.IPPool) { p.Labels = map[string]string{"edited": "yes"} })
	change(w, before, func(p *metal3.IPPool) { p.Spec.Pools = []metal3.Pool{span(100, 115)} }) // it still meets, but has before
}
