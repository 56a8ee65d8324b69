package ipam

// Stats counts a pool's addresses. Total is Used within the ranges, Reserved,
// Quarantined, Idle and Free together.
type Stats struct {
	// Total is what can be handed out; Excluded is what of the ranges cannot.
	Total, Excluded Count
	Free            Count
	Used            int // held by a claim, Outside included
	Reserved        int // kept for a name, held by nobody
	Quarantined     int
	Idle            int // kept for a host that left, given away last
	Outside         int // held, but no longer the pool's
}

// Stats counts now. The cost is what is reserved, not what is held.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tidy()
	kept := p.unclaimed()
	inside := p.lay.total.sub(p.free.total).Int64() - int64(kept+len(p.resting.at)+len(p.idle.at))
	return Stats{
		Total: p.lay.total, Excluded: p.lay.size().sub(p.lay.total), Free: p.free.total,
		Used: len(p.byAddr), Reserved: kept, Quarantined: len(p.resting.at), Idle: len(p.idle.at),
		Outside: len(p.byAddr) - int(inside),
	}
}
