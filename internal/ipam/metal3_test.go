package ipam

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// allocated are the first addresses that a pool allocates, up to a number.
func allocated(t *testing.T, s Spec, most int) (out []string) {
	t.Helper()
	s.Name = "p"
	p, err := New(s, Options{Now: newClock().now, Rand: rand.NewPCG(1, 2)})
	require.NoError(t, err)
	for i := range most {
		l, err := p.Claim(Request{Claim: string(rune('a' + i))})
		if err != nil {
			require.ErrorIs(t, err, ErrExhausted)
			break
		}
		out = append(out, l.Address.String())
	}
	return out
}

// Ranges as metal3 reads them: host bits of a subnet count, a prefix longer than the subnet is served, a range without a beginning
// holds nothing.
func TestRangesAsMetal3ReadsThem(t *testing.T) {
	for name, k := range map[string]struct {
		spec Spec
		want []string
	}{
		"host bits":                       {Spec{Ranges: []Range{subnet("172.22.0.20/24")}}, []string{"172.22.0.21", "172.22.0.22"}},
		"no host bits":                    {Spec{Ranges: []Range{subnet("172.22.0.0/24")}}, []string{"172.22.0.1", "172.22.0.2"}},
		"host bits of IPv6":               {Spec{Ranges: []Range{subnet("fd00::1:0/64")}}, []string{"fd00::1:1", "fd00::1:2"}},
		"host bits before the broadcast":  {Spec{Ranges: []Range{subnet("172.22.0.253/24")}}, []string{"172.22.0.254"}},
		"host bits of the last address":   {Spec{Ranges: []Range{subnet("172.22.0.255/24")}}, nil},
		"host bits of the last of all":    {Spec{Ranges: []Range{subnet("255.255.255.255/24")}}, nil},
		"host bits up to an end":          {Spec{Ranges: []Range{{Subnet: subnet("172.22.0.20/24").Subnet, End: addr("172.22.0.21")}}}, []string{"172.22.0.21"}},
		"a start before the host bits":    {Spec{Ranges: []Range{{Subnet: subnet("172.22.0.20/24").Subnet, Start: addr("172.22.0.5")}}}, []string{"172.22.0.5", "172.22.0.6"}},
		"a prefix longer than the subnet": {Spec{Prefix: 30, Ranges: []Range{subnet("10.0.0.2/24")}}, []string{"10.0.0.3", "10.0.0.4"}},
		"a start alone":                   {Spec{Ranges: []Range{{Start: addr("192.0.2.254")}}}, []string{"192.0.2.254", "192.0.2.255"}},
		"a start alone with a prefix":     {Spec{Prefix: 24, Ranges: []Range{{Start: addr("192.0.2.254")}}}, []string{"192.0.2.254"}},
		"an end alone":                    {Spec{Ranges: []Range{{End: addr("192.0.2.9")}}}, nil},
		"an end alone before another":     {Spec{Ranges: []Range{{End: addr("192.0.2.9")}, between("192.0.2.20", "192.0.2.20")}}, []string{"192.0.2.20"}},
		"no ranges":                       {Spec{}, nil},
		"no ranges, but random":           {Spec{Strategy: Random}, nil},
		"no ranges, but sticky":           {Spec{Strategy: Sticky}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, k.want, allocated(t, k.spec, 2))
		})
	}
}

// A pool that had nothing, and is given a range of the other family, is that family's.
func TestPoolThatWasEmptyGetsARange(t *testing.T) {
	p, err := New(Spec{Name: "p"}, Options{Now: newClock().now, Rand: rand.NewPCG(1, 2)})
	require.NoError(t, err)
	_, err = p.Resize(Spec{Name: "p", Ranges: []Range{subnet("192.0.2.0/24")}})
	require.NoError(t, err)
	l, err := p.Claim(Request{Claim: "c"})
	require.NoError(t, err)
	require.Equal(t, "192.0.2.1", l.Address.String())
	require.Equal(t, 24, l.Bits)
}
