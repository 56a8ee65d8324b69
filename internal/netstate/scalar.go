package netstate

import (
	"encoding/json"
	"fmt"
	"strconv"
)

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
		out[k] = plain(v)
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

func plain(v string) any {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil && strconv.FormatInt(n, 10) == v {
		return n
	}
	return v
}

// Part is a key of an interface that nmstate knows and this product does not support.
type Part struct {
	Key   string
	Value **Opaque
}

// Unsupported are the parts of the interface that have no effect, whether they say something or not.
func (i *Interface) Unsupported() []Part {
	return []Part{
		{"alt-names", &i.AltNames}, {"dispatch", &i.Dispatch}, {"dpdk", &i.DPDK}, {"ethtool", &i.Ethtool}, {"hsr", &i.HSR},
		{"infiniband", &i.Infiniband}, {"libreswan", &i.IPSec}, {"ipvlan", &i.IPVLAN}, {"macsec", &i.MACSec}, {"mac-vtap", &i.MACVTAP},
		{"mptcp", &i.MPTCP}, {"pci-address", &i.PCIAddress}, {"802.1x", &i.Dot1X}, {"vxlan", &i.VXLAN},
	}
}
