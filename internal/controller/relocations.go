package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	relocationv1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
)

// addRelocation serves ClusterRelocation once its definition is served and config/components/relocation has given the operator its
// rights: the definition alone may be cluster-relocation-operator's.
func addRelocation(mgr ctrl.Manager, o Options) error {
	kinds := []schema.GroupVersionKind{relocationv1beta1.GroupVersion.WithKind("ClusterRelocation")}
	permitted := func(ctx context.Context) (bool, error) { return relocation.Permitted(ctx, mgr.GetConfig()) }
	start := func() error {
		// Secrets of any name are read and written one by one; a cache of them would hold them all.
		direct, err := client.New(mgr.GetConfig(), client.Options{
			HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		})
		if err != nil {
			return fmt.Errorf("make a client without a cache: %w", err)
		}
		r := &relocation.Reconciler{
			Client: mgr.GetClient(), Log: o.Log, Now: time.Now,
			Direct: &reconcile.Reconciler{Client: runtimeclient.NewClient(direct), Now: time.Now, Rand: rand.Reader, Hub: cluster.DialHub},
		}
		return r.SetupWithManager(mgr)
	}
	return mgr.Add(&whenServed{
		name: "relocation", kinds: kinds, mapper: mgr.GetRESTMapper(), log: o.Log, start: start, permitted: permitted,
	})
}
