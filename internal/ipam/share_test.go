package ipam

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who asks with different shares does not meet, and each share is filled from its lowest address.
func TestSharesDoNotMeet(t *testing.T) {
	for _, of := range []int{2, 3} {
		var first []netip.Addr
		taken := map[netip.Addr]int{}
		for nth := range of {
			p, _ := pool(t, Spec{Name: "p", Ranges: []Range{subnet("10.0.0.0/16")}})
			for i := range 1000 {
				l, err := p.Claim(Request{Claim: fmt.Sprint(i), Share: Share{Nth: nth, Of: of}})
				require.NoError(t, err)
				require.NotContains(t, taken, l.Address, "share %d of %d", nth, of)
				taken[l.Address] = nth
				if i == 0 {
					first = append(first, l.Address)
				}
			}
		}
		require.Contains(t, first, addr("10.0.0.1"))
		require.Contains(t, first, addr("10.0.0.16"))
	}
}

// A share that is used up takes what the others left; nothing is refused while an address is free.
func TestShareTakesWhatIsLeft(t *testing.T) {
	p, _ := pool(t, Spec{Name: "p", Ranges: []Range{between("10.0.0.1", "10.0.0.40")}})
	for i := range 40 {
		_, err := p.Claim(Request{Claim: fmt.Sprint(i), Share: Share{Nth: 1, Of: 2}})
		require.NoError(t, err)
	}
	_, err := p.Claim(Request{Claim: "one more", Share: Share{Nth: 1, Of: 2}})
	require.ErrorIs(t, err, ErrExhausted)
}

// Where one of two never takes its part, the other does not search through all the holes that it leaves.
func TestShareOfManyHoles(t *testing.T) {
	p, _ := pool(t, Spec{Name: "p", Ranges: []Range{subnet("10.0.0.0/18")}})
	seen := map[netip.Addr]bool{}
	for i := range 16000 {
		l, err := p.Claim(Request{Claim: fmt.Sprint(i), Share: Share{Nth: 0, Of: 2}})
		require.NoError(t, err)
		require.False(t, seen[l.Address])
		seen[l.Address] = true
	}
}

func TestFirstOfAShareAtTheEndOfTheAddresses(t *testing.T) {
	p, _ := pool(t, Spec{Name: "p", Ranges: []Range{between("255.255.255.250", "255.255.255.254")}})
	l, err := p.Claim(Request{Claim: "c", Share: Share{Nth: 0, Of: 2}})
	require.NoError(t, err)
	require.Equal(t, addr("255.255.255.250"), l.Address)
	p, _ = pool(t, Spec{Name: "p", Ranges: []Range{between("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")}})
	l, err = p.Claim(Request{Claim: "c", Share: Share{Nth: 0, Of: 2}})
	require.NoError(t, err)
	require.Equal(t, addr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0"), l.Address)
}
