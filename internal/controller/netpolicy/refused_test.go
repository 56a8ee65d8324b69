package netpolicy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// refuses has the agent of a node say that it can have no enactments, by their policies' grants; none removes what it said.
func (w *world) refuses(node string, messages map[string]string) {
	w.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		v1beta1.RefusedAnnotation: v1beta1.FormatRefusals(messages)}}})
	require.NoError(w.t, err)
	state := &v1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: node}}
	require.NoError(w.t, w.api.Patch(w.t.Context(), state, client.RawPatch(types.MergePatchType, patch)))
}

// A policy whose name is no label value, from before admission policies, is Degraded with the cause. It can be deleted, although nodes
// were to revert it.
func TestAPolicyThatCanHaveNoEnactmentIsDegraded(t *testing.T) {
	w := newWorld(t, 2)
	p := &nmstatev1.NodeNetworkConfigurationPolicy{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("a", 64)}}
	require.NoError(t, yaml.UnmarshalStrict([]byte("onDelete: Revert\nnodeSelector: {world: "+w.name+"}\n"+document), &p.Spec))
	require.NoError(t, w.api.Create(t.Context(), p))
	why := "the API server refuses the enactment: must be no more than 63 bytes"
	for i := range 2 {
		w.refuses(w.node(i), map[string]string{v1beta1.Grant(p): why})
	}
	w.reaches(p, "Degraded", "2/2 nodes failed to configure: "+why)
	w.says(p, "Warning ReconcileFailed: 2/2 nodes failed to configure: "+why)
	other := w.policy("other", document)
	w.reaches(other, "Available", "2/2 nodes successfully configured")

	require.NoError(t, w.api.Delete(t.Context(), p))
	w.eventually(func() bool { return apierrors.IsNotFound(w.api.Get(t.Context(), client.ObjectKeyFromObject(p), p)) },
		func() string { return "it goes: " + asYAML(p) })
}

// One node's enactment is refused: the others are configured, and so is that node once it is admitted, without an edit.
func TestANodeWhoseEnactmentIsAdmittedLaterGoesOn(t *testing.T) {
	w := newWorld(t, 3)
	w.label(w.node(2), "down", "yes") // its agent makes no enactment
	p := w.policy("p", document)
	why := "the API server refuses the enactment: quota"
	w.refuses(w.node(2), map[string]string{v1beta1.Grant(p): why, "1/of-another": "other"})
	w.eventually(func() bool { return w.states(p)["Available"] == 2 }, func() string { return asYAML(w.states(p)) })
	w.reaches(p, "Degraded", "1/3 nodes failed to configure: "+why)
	w.refuses(w.node(2), nil)
	w.label(w.node(2), "down", "")
	w.reaches(p, "Available", "3/3 nodes successfully configured")
}
