package netpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/review"
)

// ReviewPath is the path of the webhook.
const ReviewPath = "/validate-network-policies"

// documents refuses a policy whose document no node could apply, with the path of the key, when it is applied. Every node checks the
// document by itself, too.
type documents struct {
	reader client.Reader
	now    func() time.Time
	peer   peer
}

// ServeReview adds the webhook to a server. It reads past the cache.
func ServeReview(server webhook.Server, reader client.Reader, now func() time.Time) {
	server.Register(ReviewPath, &webhook.Admission{Handler: &documents{reader: reader, now: now}})
}

// Handle judges a policy whose document is new. One that was admitted before keeps its labels, annotations and finalizers editable.
// Both versions of the kind have one schema.
func (d *documents) Handle(ctx context.Context, q admission.Request) admission.Response {
	policy, before := &nmstatev1.NodeNetworkConfigurationPolicy{}, &nmstatev1.NodeNetworkConfigurationPolicy{}
	if err := json.Unmarshal(q.Object.Raw, policy); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read the policy: %w", err))
	}
	if q.Operation == admissionv1.Update {
		if err := json.Unmarshal(q.OldObject.Raw, before); err != nil {
			return admission.Errored(http.StatusBadRequest, fmt.Errorf("read the policy as it was: %w", err))
		}
		if policy.DeletionTimestamp != nil || sameDocument(policy, before) {
			return admission.Allowed("")
		}
	}
	problems := review.Check(policy)
	if len(problems) == 0 {
		return admission.Allowed("")
	}
	if d.servedByPeer(ctx) {
		return admission.Allowed("").WithWarnings(warningsOf(problems)...)
	}
	return admission.Denied(problems.Error())
}

// servedByPeer says that kubernetes-nmstate configures the nodes, which takes documents that this product does not. Where that cannot
// be said, the nodes decide.
func (d *documents) servedByPeer(ctx context.Context) bool {
	standby, err := d.peer.standbyReason(ctx, d.reader, d.now())
	return standby != "" || err != nil
}

func warningsOf(problems review.Problems) (all []string) {
	for _, p := range problems {
		all = append(all, "Lifecycle Agent will refuse "+p.String())
	}
	return all
}

// sameDocument says that two policies mean the same to a node.
func sameDocument(a, b *nmstatev1.NodeNetworkConfigurationPolicy) bool {
	return equality.Semantic.DeepEqual(a.Spec.DesiredState, b.Spec.DesiredState) &&
		equality.Semantic.DeepEqual(a.Spec.Capture, b.Spec.Capture) &&
		equality.Semantic.DeepEqual(a.Spec.TemplateValues, b.Spec.TemplateValues) &&
		equality.Semantic.DeepEqual(a.Spec.MachineConfigPoolSelector, b.Spec.MachineConfigPoolSelector)
}
