package portal

import (
	"net"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// limits bounds the requests of each client, so that one that sends many does not keep another from the page.
type limits struct {
	mu sync.Mutex
	of map[netip.Prefix]*rate.Limiter
}

func (l *limits) allowRequest(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := clientOf(from)
	one := l.of[key]
	if one == nil {
		if l.of == nil || len(l.of) >= maxClients { // the budgets of all begin anew
			l.of = map[netip.Prefix]*rate.Limiter{}
		}
		one = rate.NewLimiter(maxRequests, burst)
		l.of[key] = one
	}
	return one.Allow()
}

// fairListener is a listener that gives no client more than its share of the connections.
type fairListener struct {
	net.Listener

	share int
	mu    sync.Mutex
	open  map[netip.Prefix]int
}

// Accept implements net.Listener. A connection above the share is closed at once.
func (f *fairListener) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil {
			return nil, err // the server knows the errors of its listener
		}
		at, err := netip.ParseAddrPort(c.RemoteAddr().String())
		if err != nil {
			return c, nil //nolint:nilerr // no address, no client to count
		}
		key := clientOf(at.Addr())
		if !f.acquireSlot(key) {
			_ = c.Close()
			continue
		}
		return &countedConn{Conn: c, left: sync.OnceFunc(func() { f.releaseSlot(key) })}, nil
	}
}

func (f *fairListener) acquireSlot(key netip.Prefix) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[key] >= f.share {
		return false
	}
	f.open[key]++
	return true
}

func (f *fairListener) releaseSlot(key netip.Prefix) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[key]--; f.open[key] == 0 {
		delete(f.open, key)
	}
}

// countedConn is a connection that is counted until it is closed.
type countedConn struct {
	net.Conn

	left func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.left()
	return c.Conn.Close()
}
