package nm

import (
	"context"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// ObserveThoroughly observes without the shortcuts through files: what Observe must agree with.
func (n *Network) ObserveThoroughly(ctx context.Context) (netstate.Document, error) {
	c, err := n.connect(ctx)
	if err != nil {
		return netstate.Document{}, err
	}
	defer c.close()
	s, err := c.readSnapshot(ctx)
	if err != nil {
		return netstate.Document{}, err
	}
	d, err := n.observeWithKernel(ctx, c, s)
	if err == nil {
		err = addShown(&d)
	}
	return d, err
}
