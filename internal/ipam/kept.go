package ipam

import (
	"time"

	"github.com/google/btree"
)

// rest is an address nobody holds and not everybody may have.
type rest struct {
	until time.Time // end of quarantine; of an idle one, since when it is idle
	addr  Count
	host  string
}

func byTime(a, b rest) bool {
	if !a.until.Equal(b.until) {
		return a.until.Before(b.until)
	}
	return a.addr.less(b.addr)
}

// kept is a set of such addresses, by time and by address.
type kept struct {
	order *btree.BTreeG[rest]
	at    map[Count]rest
}

func newKept() kept {
	return kept{order: btree.NewG(degree, byTime), at: map[Count]rest{}}
}

func (k kept) put(r rest) {
	k.remove(r.addr)
	k.order.ReplaceOrInsert(r)
	k.at[r.addr] = r
}

func (k kept) remove(n Count) {
	if r, ok := k.at[n]; ok {
		k.order.Delete(r)
		delete(k.at, n)
	}
}
