package apitest

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// DeleteIPConfig deletes the singleton, finalizers and all, now and again when
// the test ends, so that tests which share a server do not see each other's.
// Such tests can not run in parallel.
func (s *Server) DeleteIPConfig(t testing.TB) {
	t.Helper()
	remove := func() {
		t.Helper()
		if err := s.deleteIPConfig(context.Background()); err != nil {
			t.Fatalf("delete the IPConfig: %v", err)
		}
	}
	remove()
	t.Cleanup(remove)
}

// deleteIPConfig returns when the object is gone.
func (s *Server) deleteIPConfig(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			ipc := &lcav1.IPConfig{}
			ipc.Name = lcav1.IPConfigName
			err := s.Client.Delete(ctx, ipc)
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			if err != nil {
				return false, err
			}
			noFinalizers := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
			return false, client.IgnoreNotFound(s.Client.Patch(ctx, ipc, noFinalizers))
		})
}
