package netenactment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/requeue"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
)

const (
	// refusedRetry is how soon the agent writes again what the API server refused: a quota or an admission policy may have changed.
	refusedRetry = time.Minute
	// maxRefusal and maxRefusals bound what is published of refusals: one object holds them all.
	maxRefusal, maxRefusals = 512, 64
)

// refusals are the policies of whose enactments the API server refuses to store anything, by the grant of the policy. What is refused is
// of one policy alone: the others go on.
type refusals struct {
	known map[string]refusal
	// written is what the NodeNetworkState says of them.
	written string
}

type refusal struct {
	message string
	at      time.Time
}

// isRefusedWrite says that the API server understood a write and will not have it: the object is invalid, or an admission policy, a
// webhook, a quota or a missing right forbids it. A cache that is behind, and a server that is busy or away, are other errors.
func isRefusedWrite(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// holdsBack says that a write for the policy was refused a moment ago, and for how long it is not tried again.
func (f *refusals) holdsBack(v *policyView, now time.Time) time.Duration {
	if v.policy == nil {
		return 0
	}
	why, refused := f.known[nmstatev1beta1.Grant(v.policy)]
	if !refused {
		return 0
	}
	return max(why.at.Add(refusedRetry).Sub(now), 0)
}

// recordRefusal records a refusal; news says that it is another one than before.
func (f *refusals) recordRefusal(v *policyView, message string, now time.Time) (news bool) {
	if f.known == nil {
		f.known = map[string]refusal{}
	}
	grant := nmstatev1beta1.Grant(v.policy)
	news = f.known[grant].message != message
	f.known[grant] = refusal{message: message, at: now}
	return news
}

// forgetRefusal forgets the refusal of a policy that can be reported on again.
func (f *refusals) forgetRefusal(v *policyView) {
	if v.policy != nil {
		delete(f.known, nmstatev1beta1.Grant(v.policy))
	}
}

// keepOnly forgets what was refused of policies that are gone or were edited.
func (f *refusals) keepOnly(views []*policyView) {
	if len(f.known) == 0 {
		return
	}
	left := map[string]refusal{}
	for _, v := range views {
		if v.policy == nil {
			continue
		}
		if why, refused := f.known[nmstatev1beta1.Grant(v.policy)]; refused {
			left[nmstatev1beta1.Grant(v.policy)] = why
		}
	}
	f.known = left
}

// reportRefusal records that a policy cannot be reported on, and says so where that is possible: in the log, as an event of the policy,
// and, by publishRefusals, to the operator. It returns when to try again.
func (r *Reconciler) reportRefusal(ctx context.Context, v *policyView, why error, now time.Time) time.Duration {
	message := status.OneLine(fmt.Sprintf("the API server refuses the enactment of policy %s on node %s: %v", v.name, r.NodeName, why))
	message = strings.ToValidUTF8(message[:min(len(message), maxRefusal)], "")
	if v.policy == nil {
		r.Log.Warn("the API server refuses to delete an enactment", "policy", v.name, "error", why)
		return refusedRetry
	}
	if r.refused.recordRefusal(v, message, now) {
		r.Log.Warn("the API server refuses an enactment", "policy", v.name, "error", why)
		(status.Recorder{Client: r.Client, Log: r.Log}).Publish(ctx, v.policy, status.Event{
			Type: corev1.EventTypeWarning, Reason: "EnactmentRefused", Action: "Enact", Note: message, At: now})
	}
	return refusedRetry
}

// publishRefusals has the NodeNetworkState say what is refused; the operator makes the policy's condition of it. It returns when to
// try again where that could not be written.
func (r *Reconciler) publishRefusals(ctx context.Context, s *observation) (again time.Duration) {
	r.refused.keepOnly(s.views)
	messages := map[string]string{}
	for grant, why := range r.refused.known {
		again = requeue.Sooner(again, max(why.at.Add(refusedRetry).Sub(s.now), time.Second))
		if len(messages) < maxRefusals {
			messages[grant] = why.message
		}
	}
	text := nmstatev1beta1.FormatRefusals(messages)
	if text == r.refused.written {
		return again
	}
	if err := r.annotateState(ctx, text); err != nil {
		r.Log.Warn("refused enactments cannot be published", "error", err)
		return requeue.Sooner(again, refusedRetry)
	}
	r.refused.written = text
	return again
}

// annotateState writes the annotation; an empty text removes it.
func (r *Reconciler) annotateState(ctx context.Context, text string) error {
	var value any
	if text != "" {
		value = text
	}
	annotations := map[string]any{nmstatev1beta1.RefusedAnnotation: value}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encode annotation %s: %w", nmstatev1beta1.RefusedAnnotation, err)
	}
	state := &nmstatev1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: r.NodeName}}
	if err := r.Client.Patch(ctx, state, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("annotate NodeNetworkState %s: %w", r.NodeName, err)
	}
	return nil
}
