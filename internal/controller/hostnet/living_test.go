package hostnet

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// behind is a cache that has a claim and not its owner, and the API behind it, whose Machine has a UID, or is not there.
type behind struct {
	client.Client
	claim   metal3.IPClaim
	machine types.UID
	deleted int
}

func (b *behind) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if claims, ok := list.(*metal3.IPClaimList); ok {
		claims.Items = []metal3.IPClaim{b.claim}
	}
	return nil
}

func (b *behind) Get(_ context.Context, name client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok || u.GetKind() != machineKind.Kind || b.machine == "" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "machines"}, name.Name)
	}
	u.SetNamespace(name.Namespace)
	u.SetName(name.Name)
	u.SetUID(b.machine)
	return nil
}

func (b *behind) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	b.deleted++
	return nil
}

// A cache that lags behind does not have a machine yet that exists: its claims are kept. Those of a machine that is gone, or of a former
// one of the same name, are released.
func TestClaimsOfAnOwnerThatTheCacheDoesNotHaveYetAreKept(t *testing.T) {
	owner := types.NamespacedName{Namespace: "machines", Name: "worker-1"}
	for machine, deleted := range map[types.UID]int{"itself": 0, "": 1, "another": 1} {
		yes := true
		api := &behind{machine: machine, claim: metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: "c",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: machineKind.GroupVersion().String(), Kind: machineKind.Kind, Name: owner.Name,
				UID: "itself", Controller: &yes}}}}}
		r := &Reconciler{Client: api, Reader: api, Log: slog.New(slog.DiscardHandler)}
		result, err := r.releaseClaims(t.Context(), machineKind, owner)
		require.NoError(t, err)
		require.Equal(t, deleted, api.deleted, "machine %q", machine)
		if deleted == 0 {
			require.Equal(t, cacheLag, result.RequeueAfter, "it is tried again when the cache may have it")
		}
	}
}
