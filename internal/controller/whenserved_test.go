package controller

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	relocationv1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
)

// TestAControllerWaitsForItsRights: a definition that another product installed does not start it.
func TestAControllerWaitsForItsRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kind := relocationv1beta1.GroupVersion.WithKind("ClusterRelocation")
		mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
		mapper.Add(kind, meta.RESTScopeRoot)
		var permitted, started atomic.Bool
		w := &whenServed{
			name: "relocation", kinds: []schema.GroupVersionKind{kind}, mapper: mapper, log: slog.New(slog.DiscardHandler),
			start:     func() error { started.Store(true); return nil },
			permitted: func(context.Context) (bool, error) { return permitted.Load(), nil },
		}
		done := make(chan error, 1)
		go func() { done <- w.Start(t.Context()) }()
		synctest.Wait()
		require.False(t, started.Load())
		permitted.Store(true)
		require.NoError(t, <-done)
		require.True(t, started.Load())
	})
}
