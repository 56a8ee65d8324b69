package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

func node(name string, roles ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for _, role := range roles {
		n.Labels[role] = ""
	}
	return n
}

func TestTheFirstControlPlaneNodeServesIPConfig(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []client.Object
		want  string
	}{
		{"a single node", []client.Object{node("sno", cluster.LabelControlPlane, cluster.LabelWorker)}, "sno"},
		{"a worker beside it whose name sorts before", []client.Object{node("a", cluster.LabelWorker), node("sno", cluster.LabelControlPlane)}, "sno"},
		{"three of the control plane", []client.Object{node("m2", cluster.LabelControlPlane), node("m0", cluster.LabelMaster), node("m1", cluster.LabelControlPlane)}, "m0"},
		{"none registered", nil, ""},
	} {
		reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(c.nodes...).Build()
		first, err := firstControlPlane(t.Context(), reader)
		require.NoError(t, err)
		require.Equal(t, c.want, first, c.name)
	}
}

// TestServingWaitsForTheAPIAndTheNode: after a reboot the API fails first, then has no node, then has it.
func TestServingWaitsForTheAPIAndTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failing atomic.Bool
		failing.Store(true)
		reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if failing.Load() {
					return errors.New("the API does not answer")
				}
				return c.List(ctx, list, opts...)
			}}).Build()
		var started atomic.Bool
		s := &servingNode{name: "sno", reader: reader, log: slog.New(slog.DiscardHandler), start: func() error { started.Store(true); return nil }}
		done := make(chan error, 1)
		go func() { done <- s.Start(t.Context()) }()
		time.Sleep(servingUnknown / 2)
		synctest.Wait()
		failing.Store(false)
		time.Sleep(servingUnknown)
		synctest.Wait()
		require.False(t, started.Load(), "no node is registered yet")
		require.NoError(t, reader.Create(t.Context(), node("sno", cluster.LabelControlPlane)))
		time.Sleep(servingUnknown)
		require.NoError(t, <-done)
		require.True(t, started.Load())
	})
}

// TestAnotherNodeDoesNotServe until it is its turn.
func TestAnotherNodeDoesNotServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(node("a", cluster.LabelControlPlane), node("b", cluster.LabelControlPlane)).Build()
		ctx, stop := context.WithCancel(t.Context())
		s := &servingNode{name: "b", reader: reader, log: slog.New(slog.DiscardHandler), start: func() error { return errors.New("started") }}
		done := make(chan error, 1)
		go func() { done <- s.Start(ctx) }()
		time.Sleep(10 * servingRetry)
		synctest.Wait()
		require.Empty(t, done)
		stop()
		require.NoError(t, <-done, "stopping is no error")
	})
}
