package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
)

// TestReadyMeansThatTheClusterIsSeen keeps traffic and rollouts waiting for an operator that would act on nothing.
func TestReadyMeansThatTheClusterIsSeen(t *testing.T) {
	ask := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	for _, is := range []bool{false, true} {
		err := newSyncCheck(&informertest.FakeInformers{Synced: &is})(ask)
		require.Equal(t, is, err == nil, "%v", err)
	}
}
