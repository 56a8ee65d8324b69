package status

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const yes, no = metav1.ConditionTrue, metav1.ConditionFalse

func TestConditionsKeepTheNewestLast(t *testing.T) {
	l := NewConditions(nil, 1, time.Unix(100, 0))
	l.Set("Idle", no, "A", "")
	l.Set("ConfigInProgress", yes, "B", "one")
	l = NewConditions(l.Items, 2, time.Unix(200, 0))
	require.Equal(t, int64(2), l.Items[0].ObservedGeneration)
	l.Set("ConfigInProgress", yes, "B", "one")
	require.Equal(t, int64(100), l.Items[1].LastTransitionTime.Unix())
	l.Set("Idle", no, "A", "new words")
	require.Equal(t, "Idle", l.Items[1].Type)
	require.Equal(t, int64(100), l.Items[1].LastTransitionTime.Unix(), "a message is no transition")
	require.Equal(t, "new words", l.Message("Idle"))
	l.Set("ConfigInProgress", no, "C", "two")
	require.Equal(t, "ConfigInProgress", l.Items[1].Type)
	require.Equal(t, int64(200), l.Items[1].LastTransitionTime.Unix())
	l.DropReason("A", "")
	l.Drop("other")
	require.Len(t, l.Items, 1)
	require.Empty(t, l.Message("Idle"))
}

func TestChangedIsStatusOrReason(t *testing.T) {
	before := []metav1.Condition{{Type: "a", Status: yes, Reason: "A"}, {Type: "b", Status: yes, Reason: "B"}}
	after := []metav1.Condition{{Type: "a", Status: yes, Reason: "A", Message: "m"}, {Type: "b", Status: no, Reason: "B"}, {Type: "c"}}
	require.Equal(t, after[1:], Changed(before, after))
}

func TestClip(t *testing.T) {
	require.Equal(t, "one; two", Clip("one\ntwo\n"))
	long := Clip(strings.Repeat("é", 4000))
	require.LessOrEqual(t, len(long), maxMessage)
	require.True(t, strings.HasSuffix(long, "..."))
	require.LessOrEqual(t, len(ClipNote(strings.Repeat("é", 4000))), 1024)
}

func TestBlocked(t *testing.T) {
	asked := 0
	pass := func() *Blocked { asked++; return nil }
	stop := func() *Blocked { return &Blocked{Reason: "Busy", Message: "the node is busy", Hint: "wait"} }
	require.Nil(t, FirstOf(pass, pass))
	require.Equal(t, "the node is busy; wait", FirstOf(pass, stop, pass).String())
	require.Equal(t, 3, asked, "what follows is not checked")
	require.Equal(t, "m", (&Blocked{Message: "m"}).String())
}

func TestAnEventIsPublishedOnce(t *testing.T) {
	api := fake.NewClientBuilder().Build()
	r := Recorder{Client: api, Log: slog.New(slog.DiscardHandler)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}}
	e := Event{Type: corev1.EventTypeWarning, Reason: "Broke", Action: "Do", Note: "first\nsecond", At: time.Unix(7, 0)}
	r.Publish(t.Context(), pod, e)
	Recorder{Client: api, Log: slog.New(slog.DiscardHandler)}.Publish(t.Context(), pod, e)
	e.At = time.Unix(8, 0)
	r.Publish(t.Context(), pod, e)
	var list eventsv1.EventList
	require.NoError(t, api.List(t.Context(), &list, client.InNamespace("ns")))
	require.Len(t, list.Items, 2)
	require.Equal(t, "first; second", list.Items[0].Note)
	require.Equal(t, "Pod", list.Items[0].Regarding.Kind)

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	r.Publish(t.Context(), node, e)
	require.NoError(t, api.List(t.Context(), &list, client.InNamespace(metav1.NamespaceDefault)))
	require.Len(t, list.Items, 1, "events of a cluster-scoped object")
}

func TestPatchRefusesWhatSomebodyElseHasWrittenSince(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	api := fake.NewClientBuilder().WithObjects(node).WithStatusSubresource(node).Build()
	require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(node), node))
	stale := node.DeepCopy()
	after := node.DeepCopy()
	after.Status.Phase = corev1.NodeRunning
	require.NoError(t, Patch(t.Context(), api, node, after))
	late := stale.DeepCopy()
	late.Status.Phase = corev1.NodePending
	err := Patch(t.Context(), api, stale, late)
	require.True(t, apierrors.IsConflict(err), "%v", err)
	require.ErrorContains(t, err, "write status of n")
}
