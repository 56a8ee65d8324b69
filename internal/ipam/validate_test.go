package ipam

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"go4.org/netipx"
)

func TestValidateRefuses(t *testing.T) {
	in := func(sub, from, to string) Range {
		r := subnet(sub)
		if from != "" {
			r.Start = addr(from)
		}
		if to != "" {
			r.End = addr(to)
		}
		return r
	}
	for name, k := range map[string]struct {
		spec Spec
		want string
	}{
		"no name":              {Spec{Name: "", Ranges: []Range{subnet("10.0.0.0/24")}}, "pool : it has no name"},
		"empty range":          {Spec{Ranges: []Range{{}}}, "pool p: a range has neither start, end nor subnet"},
		"start outside subnet": {Spec{Ranges: []Range{in("10.0.0.0/24", "10.0.1.5", "")}}, "pool p: start 10.0.1.5 lies outside 10.0.0.0/24"},
		"end outside subnet":   {Spec{Ranges: []Range{in("10.0.0.0/24", "10.0.0.5", "10.0.1.5")}}, "pool p: end 10.0.1.5 lies outside 10.0.0.0/24"},
		"v4 start, v6 end":     {Spec{Ranges: []Range{between("10.0.0.5", "fd00::5")}}, "pool p: range 10.0.0.5-fd00::5 mixes IPv4 and IPv6"},
		"v4 start, v6 subnet":  {Spec{Ranges: []Range{in("fd00::/64", "10.0.0.5", "")}}, "pool p: range mixes IPv4 and IPv6: start 10.0.0.5 is not of the family of fd00::/64"},
		"reversed":             {Spec{Ranges: []Range{between("10.0.0.9", "10.0.0.5")}}, "pool p: range 10.0.0.9-10.0.0.5 is reversed: it ends before it starts"},
		"ranges overlap":       {Spec{Ranges: []Range{between("10.0.0.5", "10.0.0.9"), between("10.0.0.9", "10.0.0.20")}}, "pool p: ranges 10.0.0.5-10.0.0.9 and 10.0.0.9-10.0.0.20 overlap at 10.0.0.9"},
		"ranges of two families": {Spec{Ranges: []Range{between("10.0.0.5", "10.0.0.9"), subnet("fd00::/64")}},
			"pool p: ranges 10.0.0.5-10.0.0.9 and fd00::-fd00::ffff:ffff:ffff:ffff mix IPv4 and IPv6; make a pool of each"},
		"prefix too long":      {Spec{Prefix: 64, Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, "pool p: range 10.0.0.5-10.0.0.9: a prefix length of 64 is not possible"},
		"gateway of the other": {Spec{Gateway: addr("fd00::1"), Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, "pool p: gateway fd00::1 is not IPv4, as the pool is"},
		"exclusion of other":   {Spec{Exclude: []netipx.IPRange{spanned(t, "fd00::/120")}, Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, "pool p: exclusion fd00::-fd00::ff is not IPv4, as the pool is"},
		"VLAN":                 {Spec{VLAN: 4095, Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, "pool p: VLAN id 4095 is outside 1-4094"},
		"quarantine":           {Spec{Quarantine: -1, Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, "pool p: a quarantine of -1ns is in the past"},
		"strategy":             {Spec{Strategy: "any", Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, `pool p: strategy "any" is none of sequential, random, sticky`},
		"DHCP overlaps":        {Spec{DHCP: spanned(t, "10.0.0.9-10.0.0.30"), Ranges: []Range{in("10.0.0.0/24", "10.0.0.5", "10.0.0.9")}}, "pool p: DHCP range 10.0.0.9-10.0.0.30 overlaps range 10.0.0.5-10.0.0.9 at 10.0.0.9: an address cannot be leased and static at once"},
		"DHCP reversed":        {Spec{DHCP: netipx.IPRangeFrom(addr("10.0.0.30"), addr("10.0.0.20")), Ranges: []Range{in("10.0.0.0/24", "10.0.0.5", "10.0.0.9")}}, "pool p: DHCP: range 10.0.0.30-10.0.0.20 is reversed: it ends before it starts"},
		"DHCP outside":         {Spec{DHCP: spanned(t, "10.0.1.9-10.0.1.30"), Ranges: []Range{in("10.0.0.0/24", "10.0.0.5", "10.0.0.9")}}, "pool p: DHCP range 10.0.1.9-10.0.1.30 lies outside every subnet of the pool"},
		"DHCP family":          {Spec{DHCP: spanned(t, "fd00::9-fd00::30"), Ranges: []Range{in("10.0.0.0/24", "10.0.0.5", "10.0.0.9")}}, "pool p: DHCP range fd00::9-fd00::30 is not IPv4, as the pool is"},
		"DHCP holds gateway":   {Spec{Gateway: addr("10.0.0.20"), DHCP: spanned(t, "10.0.0.10-10.0.0.30"), Ranges: []Range{in("10.0.0.0/24", "10.0.0.5", "10.0.0.9")}}, "pool p: DHCP range 10.0.0.10-10.0.0.30 holds 10.0.0.20, which is its gateway"},
		"DHCP holds broadcast": {Spec{DHCP: spanned(t, "10.0.0.10-10.0.0.255"), Ranges: []Range{in("10.0.0.0/24", "10.0.0.5", "10.0.0.9")}}, "pool p: DHCP range 10.0.0.10-10.0.0.255 holds 10.0.0.255, which is the broadcast address of 10.0.0.0/24"},
		"reserved outside":     {Spec{Reserved: map[string]netip.Addr{"m0": addr("10.9.0.1")}, Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, "pool p: address 10.9.0.1 reserved for m0 lies outside its ranges"},
		"reserved excluded":    {Spec{Exclude: []netipx.IPRange{spanned(t, "10.0.0.6-10.0.0.7")}, Reserved: map[string]netip.Addr{"m0": addr("10.0.0.6")}, Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, "pool p: address 10.0.0.6 reserved for m0 is excluded by 10.0.0.6-10.0.0.7"},
		"reserved twice":       {Spec{Reserved: map[string]netip.Addr{"m0": addr("10.0.0.6"), "m1": addr("::ffff:10.0.0.6")}, Ranges: []Range{between("10.0.0.5", "10.0.0.9")}}, "pool p: address 10.0.0.6 is reserved for both m0 and m1"},
		"two spellings":        {Spec{Reserved: map[string]netip.Addr{"m0": addr("fd00::0001"), "m1": addr("fd00:0::1")}, Ranges: []Range{subnet("fd00::/64")}}, "pool p: address fd00::1 is reserved for both m0 and m1"},
		"everything is excluded": {Spec{Gateway: addr("10.0.0.1"), Ranges: []Range{between("10.0.0.1", "10.0.0.1")}},
			"pool p: every address of its ranges is excluded: nothing is left to allocate"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "no name" {
				k.spec.Name = "p"
			}
			require.EqualError(t, Validate(k.spec), k.want)
			_, err := New(k.spec, Options{Now: newClock().now})
			require.Error(t, err)
		})
	}
}

func TestValidateAccepts(t *testing.T) {
	for name, s := range map[string]Spec{
		"a slice of a wider network": {Prefix: 24, Gateway: addr("192.168.1.1"), Ranges: []Range{
			{Start: addr("192.168.0.10"), End: addr("192.168.0.30"), Prefix: 25}, subnet("192.168.1.1/26"), subnet("192.168.1.128/25")}},
		"start and end without a prefix":  {Ranges: []Range{between("10.0.0.5", "10.0.3.9")}},
		"the whole of IPv6":               {Ranges: []Range{subnet("::/0")}},
		"the whole of IPv4":               {Ranges: []Range{subnet("0.0.0.0/0")}},
		"DHCP beside":                     {DHCP: spanned(t, "10.0.0.10-10.0.0.254"), Ranges: []Range{{Subnet: netip.MustParsePrefix("10.0.0.0/24"), End: addr("10.0.0.9")}}},
		"a prefix longer than the subnet": {Prefix: 26, Ranges: []Range{subnet("10.0.0.0/24")}},
		"a range that leaves its prefix":  {Prefix: 24, Ranges: []Range{between("10.0.0.5", "10.0.1.9")}},
		"a start alone":                   {Ranges: []Range{{Start: addr("10.0.0.9")}}},
		"an end alone":                    {Ranges: []Range{{End: addr("10.0.0.9")}}},
		"no ranges":                       {},
		"a point-to-point link":           {Ranges: []Range{subnet("10.0.0.0/31")}},
	} {
		t.Run(name, func(t *testing.T) {
			s.Name = "p"
			require.NoError(t, Validate(s))
		})
	}
}

func TestConflictsBetweenPools(t *testing.T) {
	a := Spec{Name: "a", Network: "prov", Ranges: []Range{{Subnet: netip.MustParsePrefix("172.22.0.0/24"), Start: addr("172.22.0.100")}},
		DHCP: spanned(t, "172.22.0.10-172.22.0.99")}
	for name, k := range map[string]struct {
		b    Spec
		want string
	}{
		"ranges meet":   {Spec{Ranges: []Range{between("172.22.0.200", "172.22.1.1")}}, "pool a: 172.22.0.100-172.22.0.255 overlaps 172.22.0.200-172.22.1.1 of pool b at 172.22.0.200 in network prov"},
		"DHCP meets":    {Spec{Ranges: []Range{between("172.22.0.5", "172.22.0.12")}}, "pool a: DHCP range 172.22.0.10-172.22.0.99 overlaps 172.22.0.5-172.22.0.12 of pool b at 172.22.0.10 in network prov"},
		"two DHCPs":     {Spec{Ranges: []Range{between("172.22.1.5", "172.22.1.12")}, DHCP: spanned(t, "172.22.0.90-172.22.0.95")}, "pool a: DHCP range 172.22.0.10-172.22.0.99 overlaps DHCP range 172.22.0.90-172.22.0.95 of pool b at 172.22.0.90 in network prov"},
		"the same DHCP": {Spec{Ranges: []Range{between("172.22.1.5", "172.22.1.12")}, DHCP: a.DHCP}, ""},
		"other network": {Spec{Network: "storage", Ranges: a.Ranges}, ""},
		"other family":  {Spec{Ranges: []Range{subnet("::/0")}}, ""},
		"apart":         {Spec{Ranges: []Range{between("172.22.1.5", "172.22.1.12")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k.b.Name = "b"
			if k.b.Network == "" {
				k.b.Network = "prov"
			}
			for _, err := range []error{Conflicts(a, k.b)} {
				if k.want == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, k.want)
				}
			}
			require.Equal(t, k.want == "", Conflicts(k.b, a) == nil, "whichever is asked about first")
		})
	}
}

func TestShrinkingNamesWhoIsInTheWay(t *testing.T) {
	small := Spec{Name: "storage", Gateway: addr("10.0.0.3"), Ranges: []Range{between("10.0.0.1", "10.0.0.4")}}
	held := []Holding{{Claim: "ns/a", Address: addr("10.0.0.1")}, {Claim: "ns/c", Address: addr("10.0.0.7")}, {Claim: "ns/b", Address: addr("10.0.0.3")}}
	require.EqualError(t, CheckResize(small, held),
		"pool storage cannot lose addresses in use: 10.0.0.3 (held by ns/b) is its gateway; 10.0.0.7 (held by ns/c) lies outside its ranges")
	require.NoError(t, CheckResize(small, held[:1]))
	dhcp := Spec{Name: "storage", DHCP: spanned(t, "10.0.0.7-10.0.0.9"), Ranges: []Range{between("10.0.0.1", "10.0.0.4")}}
	require.EqualError(t, CheckResize(dhcp, held[1:2]), "pool storage: address 10.0.0.7, held by ns/c, lies in the DHCP range 10.0.0.7-10.0.0.9")
}

func TestParseSpan(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.1": "10.0.0.1-10.0.0.1", "10.0.0.5/30": "10.0.0.4-10.0.0.7", " 10.0.0.1 - 10.0.0.9 ": "10.0.0.1-10.0.0.9",
		"::ffff:10.0.0.1": "10.0.0.1-10.0.0.1", "fd00::/126": "fd00::-fd00::3", "FD00:0::1-fd00::2": "fd00::1-fd00::2",
	} {
		got, err := ParseSpan(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got.String())
	}
	for in, want := range map[string]string{
		"":                    `"" is neither an address, a CIDR nor a range first-last`,
		"10.0.0.9-10.0.0.1":   "range 10.0.0.9-10.0.0.1 is reversed: it ends before it starts",
		"10.0.0.1-fd00::1":    "range 10.0.0.1-fd00::1 mixes IPv4 and IPv6",
		"10.0.0.1-":           `"" is not an IP address`,
		"fe80::1%eth0":        `"fe80::1%eth0" is neither an address, a CIDR nor a range first-last`,
		"10.0.0.0/33":         `"10.0.0.0/33" is not a CIDR`,
		"::ffff:10.0.0.0/120": `"::ffff:10.0.0.0/120" is an IPv4 network in IPv6 clothing`,
	} {
		_, err := ParseSpan(in)
		require.EqualError(t, err, want, in)
	}
}
