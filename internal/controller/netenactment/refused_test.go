package netenactment

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// heard has the agent's log kept.
func (w *world) heard() *bytes.Buffer {
	log := &bytes.Buffer{}
	w.r.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return log
}

// publishes makes the node's NodeNetworkState, as another controller of the agent does.
func (w *world) publishes() {
	w.t.Helper()
	state := &nmstatev1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: w.name}}
	require.NoError(w.t, w.server.Client.Create(w.t.Context(), state))
	w.t.Cleanup(func() { require.NoError(w.t, w.server.Client.Delete(context.Background(), state)) })
}

// refusal is what is published of a policy.
func (w *world) refusal(p *nmstatev1.NodeNetworkConfigurationPolicy) string {
	w.t.Helper()
	state := &nmstatev1beta1.NodeNetworkState{}
	require.NoError(w.t, w.server.Client.Get(w.t.Context(), client.ObjectKey{Name: w.name}, state))
	return nmstatev1beta1.RefusalOf(state, p)
}

// A policy whose name is no label value can have no enactment. It says so, and the policies after it are enacted.
func TestAPolicyThatCanHaveNoEnactmentHoldsNoOtherUp(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	w.publishes()
	log := w.heard()
	long := w.policy(strings.Repeat("a", 64), mtu1300, nil)
	other := w.policy("mtu", mtu1400, nil)
	w.pass()
	require.Equal(t, condition.Pending, w.state("mtu"), "the policies after it go on")
	require.Contains(t, w.refusal(long), "must be no more than 63 ")
	require.Empty(t, w.refusal(other))
	require.Contains(t, events(t, w), "EnactmentRefused")
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
	w.grant(other)
	w.passes(2)
	require.Equal(t, condition.Available, w.state("mtu"))
	require.Equal(t, 1400, w.mtu())
	require.NotZero(t, w.pass().RequeueAfter, "it is tried again")
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), "it is logged once: %s", log.String())

	require.NoError(t, w.server.Client.Delete(t.Context(), long))
	w.pass()
	require.Empty(t, w.refusal(long))
}

// An admission policy of the cluster refuses one enactment. Once it lets it in, the policy goes on without an edit.
func TestAnEnactmentThatIsAdmittedLaterGoesOn(t *testing.T) {
	shared.Server(t)
	w := newWorld(t)
	w.publishes()
	admit := w.refusing("forbidden")
	p := w.policy("forbidden", mtu1300, nil)
	other := w.policy("mtu", mtu1400, nil)
	w.pass()
	require.Nil(t, w.enactment("forbidden"))
	require.Contains(t, w.refusal(p), "the test forbids it")
	w.grant(other)
	w.passes(2)
	require.Equal(t, condition.Available, w.state("mtu"))
	w.edit(p, mtu1400)
	require.Empty(t, w.refusal(p), "what was refused before does not hold for an edit")
	w.pass()
	require.Contains(t, w.refusal(p), "the test forbids it")

	admit()
	w.now = w.now.Add(refusedRetry)
	w.pass()
	require.Equal(t, condition.Pending, w.state("forbidden"))
	require.Empty(t, w.refusal(p))
}

// refusing has the API server refuse enactments of a policy, until the returned function is called.
func (w *world) refusing(policy string) (admit func()) {
	w.t.Helper()
	deny := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "test-refuses"}}
	deny.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule: admissionv1.Rule{APIGroups: []string{"nmstate.io"}, APIVersions: []string{"*"},
				Resources: []string{"nodenetworkconfigurationenactments"}}}}}}
	deny.Spec.Validations = []admissionv1.Validation{{Message: "the test forbids it",
		Expression: `object.metadata.labels["nmstate.io/policy"] != "` + policy + `"`}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: deny.ObjectMeta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: deny.Name,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}}}
	require.NoError(w.t, w.server.Client.Create(w.t.Context(), deny))
	require.NoError(w.t, w.server.Client.Create(w.t.Context(), binding))
	probe := func() error {
		return w.server.Client.Create(context.Background(), &enactment{ObjectMeta: metav1.ObjectMeta{
			Name: "probe", Labels: map[string]string{nmstatev1.PolicyLabel: policy}}}, client.DryRunAll)
	}
	takesEffect := func(refused bool) {
		require.Eventually(w.t, func() bool { return (probe() != nil) == refused }, time.Minute, 20*time.Millisecond)
	}
	takesEffect(true)
	remove := func() {
		require.NoError(w.t, client.IgnoreNotFound(w.server.Client.Delete(context.Background(), binding)))
		require.NoError(w.t, client.IgnoreNotFound(w.server.Client.Delete(context.Background(), deny)))
	}
	w.t.Cleanup(remove)
	return func() { remove(); takesEffect(false) }
}

// A server that is away or busy, and a cache that is behind, are no refusals.
func TestWhatIsARefusedWrite(t *testing.T) {
	resource := schema.GroupResource{Group: "nmstate.io", Resource: "nodenetworkconfigurationenactments"}
	for err, want := range map[error]bool{
		apierrors.NewInvalid(schema.GroupKind{}, "e", nil):          true,
		apierrors.NewForbidden(resource, "e", errors.New("quota")):  true,
		apierrors.NewRequestEntityTooLargeError("too large"):        true,
		apierrors.NewConflict(resource, "e", errors.New("changed")): false,
		apierrors.NewAlreadyExists(resource, "e"):                   false,
		apierrors.NewNotFound(resource, "e"):                        false,
		apierrors.NewTooManyRequests("busy", 1):                     false,
		apierrors.NewUnauthorized("the token is over"):              false,
		apierrors.NewInternalError(errors.New("etcd")):              false,
		apierrors.NewServiceUnavailable("starting"):                 false,
		errors.New("connection refused"):                            false,
	} {
		require.Equal(t, want, isRefusedWrite(err), "%v", err)
	}
}
