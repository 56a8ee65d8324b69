package property

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// encode is the value of a key in the words of its property.
func encode(p keys.Property, field reflect.Value) (any, error) {
	field = reflect.Indirect(field)
	if value, ok := namedValue(p, field); ok {
		return value, nil
	}
	switch {
	case field.Kind() == reflect.Bool && (p.Form == keys.Flag || p.Form == keys.Opposite):
		return field.Bool() != (p.Form == keys.Opposite), nil
	case field.Kind() == reflect.Bool && p.Form == keys.Ternary:
		if field.Bool() {
			return int32(1), nil
		}
		return int32(0), nil
	case field.Kind() == reflect.Slice && p.Form == keys.Flags:
		return encodeFlags(p, field)
	case field.Kind() == reflect.Slice && p.Form == keys.Texts:
		return field.Interface(), nil
	case field.Kind() == reflect.String && p.Form == keys.File:
		return profile.FileValue(field.String()), nil
	case field.CanInt():
		return encodeNumber(p.Form, field.Int())
	case field.Kind() == reflect.String && p.Form == keys.Text:
		return field.String(), nil
	case field.Kind() == reflect.String && p.Form == keys.Hardware:
		hw, err := net.ParseMAC(field.String())
		if err != nil {
			return nil, fmt.Errorf("%q is not a MAC address: %w", field.String(), err)
		}
		return []byte(hw), nil
	}
	return nil, fmt.Errorf("%v is nothing that %s can have", field.Interface(), p)
}

func encodeFlags(p keys.Property, field reflect.Value) (any, error) {
	if field.Len() == 0 {
		return p.Values[""], nil
	}
	bits := uint32(0)
	for n := range field.Len() {
		bit, known := p.Values[field.Index(n).String()].(uint32)
		if !known {
			return nil, fmt.Errorf("%v is nothing that %s can have", field.Index(n), p)
		}
		if bit != 0 {
			bits |= bit | p.Mask
		}
	}
	return bits, nil
}

// decodeFlags are the words for the bits; false for bits without a word.
func decodeFlags(p keys.Property, bits uint32) ([]string, bool) {
	out := []string{}
	if same(bits, p.Values[""]) {
		return out, true
	}
	for word, of := range p.Values {
		if bit, _ := of.(uint32); word != "" && bit != 0 && bits&bit != 0 {
			out = append(out, word)
		}
	}
	slices.Sort(out)
	return out, len(out) > 0
}

func encodeNumber(f keys.Form, n int64) (any, error) {
	switch f {
	case keys.Number:
		return uint32(n), nil
	case keys.Wide:
		return uint64(n), nil
	case keys.Signed:
		return int32(n), nil
	case keys.Long:
		return n, nil
	default:
		return nil, fmt.Errorf("a property of form %q holds no number", f)
	}
}

// namedValue is the property's value of a word, or of a switch.
func namedValue(p keys.Property, field reflect.Value) (any, bool) {
	word := field.String()
	if field.Kind() == reflect.Bool {
		word = strconv.FormatBool(field.Bool())
	}
	value, ok := p.Values[word]
	if !ok {
		value, ok = p.Values[strings.ToLower(word)]
	}
	return value, ok
}

// decode gives a field the value of its property; one that has no word leaves the field alone.
func decode(r keys.Row, value any, field reflect.Value) {
	if field.Kind() == reflect.Pointer {
		inner := reflect.New(field.Type().Elem())
		if decodeInto(r, value, inner.Elem()) {
			field.Set(inner)
		}
		return
	}
	decodeInto(r, value, field)
}

func decodeInto(r keys.Row, value any, field reflect.Value) bool {
	p := r.Property
	if word, ok := wordOf(r, value); ok && p.Form != keys.Flags {
		value = word
	}
	if p.Secret && value != "" {
		value = tree.Hidden
	}
	switch v := value.(type) {
	case bool:
		field.SetBool(v != (p.Form == keys.Opposite))
	case string:
		if field.Kind() == reflect.Bool {
			field.SetBool(v == "true")
			return true
		}
		field.SetString(v)
	case uint32:
		if p.Form == keys.Flags {
			words, ok := decodeFlags(p, v)
			if ok {
				field.Set(reflect.ValueOf(words))
			}
			return ok
		}
		field.SetInt(int64(v))
	case uint64:
		field.SetInt(int64(v))
	case int64:
		field.SetInt(v)
	case int32:
		switch {
		case field.Kind() == reflect.Bool:
			field.SetBool(v == 1)
		case p.Values != nil:
			return false // a value of NetworkManager's own
		default:
			field.SetInt(int64(v))
		}
	case []string:
		field.Set(reflect.ValueOf(v))
	case []byte:
		if p.Form == keys.File {
			field.SetString(profile.FileOf(v))
			return true
		}
		field.SetString(strings.ToUpper(net.HardwareAddr(v).String()))
	}
	return true
}

// wordOf is the word for a value of a property. A text that is a word itself stays.
func wordOf(r keys.Row, value any) (string, bool) {
	if text, ok := value.(string); ok && slices.Contains(r.Words, text) {
		return text, true
	}
	if bits, ok := value.(uint32); ok && r.Property.Form == keys.Bits {
		value = bits & r.Property.Mask
	}
	for word, of := range r.Property.Values {
		if same(of, value) {
			return word, true
		}
	}
	return "", false
}

// same compares two values of a property. Addresses may be spelt in different ways.
func same(a, b any) bool {
	x, isText := a.(string)
	y, bothText := b.(string)
	if isText && bothText && x != y {
		left, err := netip.ParseAddr(x)
		right, err2 := netip.ParseAddr(y)
		return err == nil && err2 == nil && left == right
	}
	return reflect.DeepEqual(a, b)
}
