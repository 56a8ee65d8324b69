package netstate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
	if p := sizeProblems(d); len(p) > 0 {
		return Document{}, fmt.Errorf("decode network document: %w", p)
	}
	for n, r := range d.configRoutes() {
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

func (d Document) configRoutes() []Route {
	if d.Routes == nil {
		return nil
	}
	return d.Routes.Config
}

func (d Document) configRules() []RouteRule {
	if d.RouteRules == nil {
		return nil
	}
	return d.RouteRules.Config
}

func sizeProblems(d Document) tree.Problems {
	var out tree.Problems
	check := func(path string, n, most int) {
		if n > most {
			out = append(
				out,
				tree.Problem{Path: path, Reason: fmt.Sprintf("%d entries, and %d are the most that a document may have", n, most)},
			)
		}
	}
	check("interfaces", len(d.Interfaces), maxInterfaces)
	check("routes.config", len(d.configRoutes()), maxRoutes)
	check("route-rules.config", len(d.configRules()), maxRules)
	for _, i := range d.Interfaces {
		for key, ip := range map[string]*IP{"ipv4": i.IPv4, "ipv6": i.IPv6} {
			if ip != nil {
				check(i.keyPath(key+".address"), len(ip.Addresses), maxEntries)
			}
		}
		if i.Bridge != nil {
			check(i.keyPath("bridge.port"), len(i.Bridge.Ports), maxEntries)
		}
		if i.Bond != nil {
			check(i.keyPath("link-aggregation.port"), len(i.Bond.Ports), maxEntries)
		}
	}
	return out
}

// keyPath of a key of the interface, as error messages name it.
func (i Interface) keyPath(key string) string {
	if key == "" {
		return "interfaces[" + i.Name + "]"
	}
	return "interfaces[" + i.Name + "]." + key
}

// Opaque is a part of a document that this product does not look into.
type Opaque struct{ Value any }

// MarshalJSON writes the part as it was read.
func (o Opaque) MarshalJSON() ([]byte, error) { return json.Marshal(o.Value) }

// UnmarshalJSON reads anything.
func (o *Opaque) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.Value) }

// SetAny takes what the decoder found.
func (o *Opaque) SetAny(v any) { o.Value = v }

// Any is what Encode writes.
func (o Opaque) Any() any { return o.Value }

// Mark is a packet mark or its mask; nmstate writes them in hexadecimal.
type Mark uint32

// MarshalText writes the mark as 0x1f.
func (m Mark) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%x", uint32(m)), nil }

// UnmarshalText reads decimal or 0x.
func (m *Mark) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 32)
	if err != nil {
		return fmt.Errorf("%q is not a mark of 32 bits such as 0x1f", text)
	}
	*m = Mark(n)
	return nil
}

// UnmarshalJSON reads a number as well as a string.
func (m *Mark) UnmarshalJSON(data []byte) error {
	var n uint32
	if json.Unmarshal(data, &n) == nil {
		*m = Mark(n)
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%s is not a mark", data)
	}
	return m.UnmarshalText([]byte(s))
}

// Options are named values whose names the kernel defines. Numbers and booleans are kept as their text.
type Options map[string]string

// MarshalJSON writes whole numbers as numbers, as nmstate does.
func (o Options) MarshalJSON() ([]byte, error) {
	out := make(map[string]any, len(o))
	for k, v := range o {
		out[k] = numberOrText(v)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads strings, numbers and booleans.
func (o *Options) UnmarshalJSON(data []byte) error {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	*o = make(Options, len(in))
	for k, raw := range in {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		(*o)[k] = s
	}
	return nil
}

func numberOrText(v string) any {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil && strconv.FormatInt(n, 10) == v {
		return n
	}
	return v
}
