package relocation

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// screenPause lies between two looks at the node's addresses: the network comes up after the page, and changes.
const screenPause = 2 * time.Second

// screen is the node's console, on which a technician reads where the page is and with which code it opens.
type screen struct {
	to io.Writer
	mu sync.Mutex
}

// show prints a text in one piece.
func (s *screen) show(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.to, format, args...)
}

// follow shows where the page is, and again each time the node has got another address, until ctx ends.
func (s *screen) follow(ctx context.Context, port uint16, addresses func() []netip.Addr) {
	shown := []netip.Addr(nil)
	tick := time.NewTicker(screenPause)
	defer tick.Stop()
	for {
		now := addresses()
		if slices.ContainsFunc(now, func(a netip.Addr) bool { return !slices.Contains(shown, a) }) {
			for _, a := range now {
				s.show("Open this page on a laptop or a phone:  https://%s\n", netip.AddrPortFrom(a, port))
			}
			shown = now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
