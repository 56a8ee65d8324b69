package portal

import (
	"net/http"
	"net/netip"
	"time"
)

const (
	freeAttempts = 5                // before an address is blocked
	firstBlock   = 30 * time.Second // doubles with each further wrong attempt
	longestBlock = 15 * time.Minute
	// maxClients bounds how many addresses are remembered. The one that must wait no longer is forgotten first.
	maxClients = 1024
	// clientBits6 is how much of an IPv6 address names a client: a machine makes itself addresses in its network at will.
	clientBits6 = 64
)

// attempts counts wrong codes for each client. Those of all clients together are bounded by maxGuesses.
type attempts map[netip.Prefix]client

type client struct {
	wrong         int
	last, blocked time.Time
}

// clientOf is the part of an address that is counted.
func clientOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		return netip.PrefixFrom(a, clientBits6).Masked()
	}
	return netip.PrefixFrom(a, a.BitLen())
}

// remainingBlock is how long a client has to wait before its next code is compared.
func (t attempts) remainingBlock(from netip.Addr, now time.Time) time.Duration {
	return max(0, t[clientOf(from)].blocked.Sub(now))
}

// recordFailure notes a wrong code, and returns which one of the client it was.
func (t attempts) recordFailure(from netip.Addr, now time.Time) int {
	key := clientOf(from)
	c, known := t[key]
	if !known && len(t) >= maxClients {
		t.makeRoom()
	}
	c.wrong, c.last = c.wrong+1, now
	if c.wrong >= freeAttempts {
		c.blocked = now.Add(min(firstBlock<<min(c.wrong-freeAttempts, 10), longestBlock))
	}
	t[key] = c
	return c.wrong
}

// makeRoom forgets the client that has made the fewest mistakes, of those the one whose last is oldest: a client cannot have its own
// mistakes forgotten by coming from many addresses once.
func (t attempts) makeRoom() {
	var least netip.Prefix
	for key, c := range t {
		l, found := t[least]
		if !found || c.wrong < l.wrong || c.wrong == l.wrong && c.last.Before(l.last) {
			least = key
		}
	}
	delete(t, least)
}

func (t attempts) forgetClient(from netip.Addr) { delete(t, clientOf(from)) }

// addressOf is the address that a request came from: the connection's, no header's.
func addressOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr()
}
