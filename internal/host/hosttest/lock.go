package hosttest

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// hold is an acquired lock of the node. It ends with the boot of the node in which it was acquired.
type hold struct {
	holder host.Holder
	life   int
}

// Reserve makes a flow's unfinished operations hold the node's lock.
func (n *Node) Reserve(flow host.Reservation) { n.flows = append(n.flows, flow) }

// Lock is the node's host.NodeLock.
func (n *Node) Lock() host.NodeLock { return nodeLock{n} }

type nodeLock struct{ n *Node }

// lockPoll is how often the fake looks again while it waits.
const lockPoll = 2 * time.Millisecond

func (l nodeLock) Acquire(ctx context.Context, h host.Holder) (func(), error) {
	for {
		mine, other := l.take(h)
		if mine != nil {
			release := sync.OnceFunc(func() { l.drop(mine) })
			unfinished, found, err := host.Unfinished(ctx, l.n.flows, h.Flow())
			if found {
				err = &host.BusyError{Holder: unfinished}
			}
			if err != nil {
				release()
				return nil, err
			}
			return release, nil
		}
		if ended, err := host.Displace(ctx, l.n.flows, other, h.Flow()); err != nil {
			return nil, err
		} else if ended {
			continue
		}
		select {
		case <-ctx.Done():
			return nil, &host.BusyError{Holder: other}
		case <-time.After(lockPoll):
		}
	}
}

// take returns the hold, or who has the node.
func (l nodeLock) take(h host.Holder) (*hold, host.Holder) {
	n := l.n
	n.m.Enter()
	defer n.m.Unlock()
	if n.held != nil && n.held.life == n.m.Life {
		return nil, n.held.holder
	}
	h.PID, h.Boot, h.Since = n.m.NextProgram(), strconv.Itoa(n.m.Boots), time.Now().UTC().Truncate(time.Second)
	n.held = &hold{h, n.m.Life}
	return n.held, host.Holder{}
}

// drop is no port call: the kernel takes the lock from a dead program too.
func (l nodeLock) drop(mine *hold) {
	l.n.m.Lock()
	defer l.n.m.Unlock()
	if l.n.held == mine {
		l.n.held = nil
	}
}

func (l nodeLock) Holder(ctx context.Context) (host.Holder, bool, error) {
	if h, held := l.process(); held && !host.Yields(l.n.flows, h) {
		return h, true, nil
	}
	return host.Unfinished(ctx, l.n.flows, "")
}

func (l nodeLock) process() (host.Holder, bool) {
	n := l.n
	n.m.Enter()
	defer n.m.Unlock()
	if n.held == nil || n.held.life != n.m.Life {
		return host.Holder{}, false
	}
	return n.held.holder, true
}
