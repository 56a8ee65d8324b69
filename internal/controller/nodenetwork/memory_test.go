package nodenetwork

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// What is published is the node's network, once for each change of it.
func TestTheNetworkIsWrittenWhenItDiffers(t *testing.T) {
	s, w := shared.Memory(t), &wires{document: one(1500, "100sec")}
	m, err := NewMetrics(prometheus.NewRegistry())
	require.NoError(t, err)
	p := &Publisher{Client: s.Client, Cache: s.Client, Reader: s.Client, Log: slog.New(slog.DiscardHandler), NodeName: "n", Network: w,
		Version: "test", Now: time.Now, Metrics: m}
	pass := func() string {
		t.Helper()
		_, err := p.Reconcile(t.Context(), reconcile.Request{})
		require.NoError(t, err)
		return state(t, s, "n").ResourceVersion
	}
	require.Empty(t, pass(), "there is no Node")
	require.NoError(t, s.Client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "node"}}))
	first := pass()
	require.Equal(t, 1500, mtuOf(state(t, s, "n")))
	require.Equal(t, "n", state(t, s, "n").OwnerReferences[0].Name)

	w.document = one(1500, "99sec")
	require.Equal(t, first, pass(), "a lifetime that runs is no change")
	w.document = one(9000, "99sec")
	require.NotEqual(t, first, pass())
	require.Equal(t, 9000, mtuOf(state(t, s, "n")))
}
