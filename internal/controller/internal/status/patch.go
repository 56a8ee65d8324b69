package status

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Patch writes the status of after, unless another client has written the object since before was read: that is a conflict
// (apierrors.IsConflict), after which the caller observes again.
func Patch(ctx context.Context, c client.Client, before, after client.Object) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("write status of %s: %w", after.GetName(), err)
	}
	return nil
}
