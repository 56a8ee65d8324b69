package ipam

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"net/netip"
)

// Count is a number of addresses, or an address as a number: 128 bits, without
// pointers, so that a million of them cost the collector nothing. Sums saturate.
type Count struct{ hi, lo uint64 }

// CountOf is a small number as a Count.
func CountOf(n uint64) Count { return Count{lo: n} }

var most = Count{hi: math.MaxUint64, lo: math.MaxUint64}

func (c Count) add(d Count) Count {
	lo, carry := bits.Add64(c.lo, d.lo, 0)
	hi, carry := bits.Add64(c.hi, d.hi, carry)
	if carry != 0 {
		return most
	}
	return Count{hi, lo}
}

// sub is never asked for less than nothing; if it is, the answer is nothing.
func (c Count) sub(d Count) Count {
	lo, borrow := bits.Sub64(c.lo, d.lo, 0)
	hi, borrow := bits.Sub64(c.hi, d.hi, borrow)
	if borrow != 0 {
		return Count{}
	}
	return Count{hi, lo}
}

func (c Count) next() Count { return c.add(Count{lo: 1}) }
func (c Count) prev() Count { return c.sub(Count{lo: 1}) }

// Compare is -1, 0 or 1.
func (c Count) Compare(d Count) int {
	switch {
	case c.hi < d.hi, c.hi == d.hi && c.lo < d.lo:
		return -1
	case c == d:
		return 0
	}
	return 1
}

func (c Count) less(d Count) bool { return c.Compare(d) < 0 }

// IsZero reports whether there are none.
func (c Count) IsZero() bool { return c == Count{} }

// remainder is the remainder of c divided by d, which is not zero.
func (c Count) remainder(d Count) Count {
	if d.hi == 0 {
		return Count{lo: bits.Rem64(c.hi, c.lo, d.lo)}
	}
	// The quotient fits into 64 bits, since the divisor does not.
	for shift := bits.LeadingZeros64(d.hi) - bits.LeadingZeros64(c.hi); shift >= 0; shift-- {
		s := Count{hi: d.hi<<shift | d.lo>>(64-shift), lo: d.lo << shift}
		if !c.less(s) {
			c = c.sub(s)
		}
	}
	return c
}

// Int64 is the number, or the largest int64 where it is larger.
func (c Count) Int64() int64 {
	if c.hi != 0 || c.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(c.lo)
}

// String is the exact number in decimal.
func (c Count) String() string {
	n := new(big.Int).SetUint64(c.hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(c.lo)).String()
}

// MarshalText writes the exact number.
func (c Count) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// numberOf returns an address as a number; the family has to be remembered elsewhere.
func numberOf(a netip.Addr) Count {
	if a.Is4() {
		b := a.As4()
		return Count{lo: uint64(binary.BigEndian.Uint32(b[:]))}
	}
	b := a.As16()
	return Count{hi: binary.BigEndian.Uint64(b[:8]), lo: binary.BigEndian.Uint64(b[8:])}
}

// toAddress is the inverse of numberOf.
func (c Count) toAddress(v4 bool) netip.Addr {
	if v4 {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(c.lo))
		return netip.AddrFrom4(b)
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], c.hi)
	binary.BigEndian.PutUint64(b[8:], c.lo)
	return netip.AddrFrom16(b)
}
