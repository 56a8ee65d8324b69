package ipam

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// TestPendingClaimsGoFirst: after a restart a new claim must not wait for thousands that need nothing.
func TestPendingClaimsGoFirst(t *testing.T) {
	served := func(i int) client.Object {
		if i%2 == 0 {
			c := &capi.IPAddressClaim{}
			c.Status.AddressRef.Name = "a"
			return c
		}
		return &metal3.IPClaim{Status: metal3.IPClaimStatus{Address: &metal3.ObjectReference{Name: "a"}}}
	}
	to := priorityqueue.New[reconcile.Request]("turns")
	defer to.ShutDown()
	add := func(name string, o client.Object) {
		o.SetName(name)
		(&pendingFirst{}).Create(t.Context(), event.CreateEvent{Object: o, IsInInitialList: true}, to)
	}
	for i := range 100 {
		add(fmt.Sprintf("served%d", i), served(i))
	}
	add("new", &metal3.IPClaim{})
	add("newer", &capi.IPAddressClaim{})
	for _, want := range []string{"new", "newer"} {
		got, _ := to.Get()
		require.Equal(t, want, got.Name)
	}
}
