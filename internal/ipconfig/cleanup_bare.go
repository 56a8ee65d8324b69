package ipconfig

import (
	"context"
	"time"
)

// noDeadline leaves a note's deadline out.
var noDeadline time.Time

// CleanUpBare cleans a node whose workspace holds no operation, or none that can be read: stateroots of this product's
// making, and files that an operation may have left.
func CleanUpBare(ctx context.Context, n Node) error {
	c := &Cleanup{Node: n, Abort: (&PrePivot{Node: n}).reviveStopped}
	for _, step := range c.Plan().Steps {
		if err := step.Do(ctx); err != nil {
			return err
		}
	}
	return nil
}
