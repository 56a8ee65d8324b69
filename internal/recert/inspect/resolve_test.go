package inspect

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

func TestResolveMapping(t *testing.T) {
	a := netip.MustParseAddr
	n := []Node{{Addresses: []string{oldV6, oldV4}}}
	for name, c := range map[string]struct {
		cfg   config.Config
		nodes []Node
		want  int
		err   string
	}{
		"by family, not by order": {config.Config{IPs: []netip.Addr{a(newV4), a(newV6)}}, n, 2, ""},
		"one family only":         {config.Config{IPs: []netip.Addr{a(newV6)}}, n, 1, ""},
		"unchanged":               {config.Config{IPs: []netip.Addr{a(oldV4)}}, n, 0, ""},
		"explicit without a node": {config.Config{Replace: []replace.Address{{Old: a(oldV4), New: a(newV4)}}}, nil, 1, ""},
		"finished":                {config.Config{IPs: []netip.Addr{a(newV4)}}, nil, 0, ""},
		"contradiction":           {config.Config{IPs: []netip.Addr{a(newV4)}, Replace: []replace.Address{{Old: a(oldV4), New: a(lookalike)}}}, n, 0, "cn_san_replace_rules"},
		"two nodes":               {config.Config{IPs: []netip.Addr{a(newV4)}}, append(n, n...), 0, "2 Node objects"},
		"new family":              {config.Config{IPs: []netip.Addr{a(newV6)}}, []Node{{Addresses: []string{oldV4}}}, 0, "family"},
	} {
		m, err := resolveMapping(c.cfg, c.nodes)
		if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && len(m.Changes()) != c.want {
			t.Errorf("%s: %v", name, m.Changes())
		}
	}
}
