package netstate

import (
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// The most entries of each kind that a document may have.
const (
	maxInterfaces = 10_000
	maxRoutes     = 20_000
	maxRules      = 10_000
	maxEntries    = 4096 // of any list inside an interface
)

// Decode reads a YAML or JSON document. Keys it does not know are refused with their path and line, so that a
// misspelt one cannot be lost in silence, and so are documents of a size that no node can have. The error
// wraps tree.Problems.
func Decode(data []byte) (Document, error) {
	var d Document
	if err := tree.Decode(data, &d); err != nil {
		return Document{}, fmt.Errorf("decode network document: %w", err)
	}
	if p := oversized(d); len(p) > 0 {
		return Document{}, fmt.Errorf("decode network document: %w", p)
	}
	for n, r := range d.routes() {
		if r.Metric == -1 { // nmstate's way to say: not given
			d.Routes.Config[n].Metric = 0
		}
	}
	return d, nil
}

// Encode writes the document as YAML, keys in a fixed order, names first.
func (d Document) Encode() ([]byte, error) {
	out, err := tree.Encode(d)
	if err != nil {
		return nil, fmt.Errorf("encode network document: %w", err)
	}
	return out, nil
}

// Keeps drops what an absent interface says besides its name: it has no effect, and it need not be right.
func (Interface) Keeps(key string, value func(string) string) bool {
	return value("state") != StateAbsent || slices.Contains([]string{"name", "type", "state", "identifier", "mac-address"}, key)
}

func (d Document) routes() []Route {
	if d.Routes == nil {
		return nil
	}
	return d.Routes.Config
}

func (d Document) rules() []RouteRule {
	if d.RouteRules == nil {
		return nil
	}
	return d.RouteRules.Config
}

func oversized(d Document) tree.Problems {
	var out tree.Problems
	check := func(path string, n, most int) {
		if n > most {
			out = append(out, tree.Problem{Path: path, Reason: fmt.Sprintf("%d entries, and %d are the most that a document may have", n, most)})
		}
	}
	check("interfaces", len(d.Interfaces), maxInterfaces)
	check("routes.config", len(d.routes()), maxRoutes)
	check("route-rules.config", len(d.rules()), maxRules)
	for _, i := range d.Interfaces {
		for key, ip := range map[string]*IP{"ipv4": i.IPv4, "ipv6": i.IPv6} {
			if ip != nil {
				check(i.path(key+".address"), len(ip.Addresses), maxEntries)
			}
		}
		if i.Bridge != nil {
			check(i.path("bridge.port"), len(i.Bridge.Ports), maxEntries)
		}
		if i.Bond != nil {
			check(i.path("link-aggregation.port"), len(i.Bond.Ports), maxEntries)
		}
	}
	return out
}

// path of a key of the interface, as error messages name it.
func (i Interface) path(key string) string {
	if key == "" {
		return "interfaces[" + i.Name + "]"
	}
	return "interfaces[" + i.Name + "]." + key
}
