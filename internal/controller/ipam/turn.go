package ipam

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// inTurn enqueues claims. After a restart all of them are looked at; those that have an address already, most of them, wait until
// those are served that have none.
type inTurn struct {
	handler.EnqueueRequestForObject
}

// Create implements handler.EventHandler. Without a priority of its own a claim comes before all that were there at the start.
func (h *inTurn) Create(ctx context.Context, e event.CreateEvent, to queue) {
	if e.IsInInitialList && !hasAddress(e.Object) {
		to.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		return
	}
	h.EnqueueRequestForObject.Create(ctx, e, to)
}

// hasAddress says that the claim's status names an address.
func hasAddress(o client.Object) bool {
	switch c := o.(type) {
	case *metal3.IPClaim:
		return c.Status.Address != nil
	case *capi.IPAddressClaim:
		return c.Status.AddressRef != nil
	}
	return false
}
