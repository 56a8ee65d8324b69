package site

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSiteValidation(t *testing.T) {
	two := func(a, b string) []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix(a), netip.MustParsePrefix(b)}
	}
	for name, tt := range map[string]struct {
		site Site
		ok   bool
	}{
		"defaults":          {Site{}, true},
		"dual stack":        {Site{Addresses: two("192.0.2.10/24", "2001:db8::10/64")}, true},
		"localhost":         {Site{Hostname: "localhost"}, false},
		"one family twice":  {Site{Addresses: two("192.0.2.1/24", "192.0.2.2/24")}, false},
		"mapped address":    {Site{Addresses: []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr("::ffff:192.0.2.1"), 96)}}, false},
		"unset address":     {Site{Addresses: []netip.Prefix{{}}}, false},
		"three of them all": {Site{Addresses: append(two("192.0.2.1/24", "2001:db8::1/64"), netip.MustParsePrefix("192.0.2.3/24"))}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.site.WithDefaults().Validate()
			require.Equal(t, tt.ok, err == nil, "%v", err)
		})
	}
}
