package portal

import (
	"net/netip"
	"time"
)

// Fail notes a wrong code of an address, Wait is how long it has to wait, Clients how many addresses are remembered.
func (p *Portal) Fail(from netip.Addr) { p.door.tries.recordFailure(from, p.options.Now()) }
func (p *Portal) Wait(from netip.Addr) time.Duration {
	return p.door.tries.remainingBlock(from, p.options.Now())
}
func (p *Portal) Clients() int { return len(p.door.tries) }
