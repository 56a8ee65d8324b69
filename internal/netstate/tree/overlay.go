package tree

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// isMentioned says that a value says something: it is not nil, and not the zero of a plain type. An empty list that
// is not nil says that there is nothing.
func isMentioned(v reflect.Value) bool { return !v.IsZero() }

// Overlay is base with what over mentions in its place: keys one by one, lists as a whole. Neither is changed, and
// the result shares memory with both.
func Overlay[T any](base, over T) T {
	var out T
	overlayValue(reflect.ValueOf(&out).Elem(), reflect.ValueOf(base), reflect.ValueOf(over))
	return out
}

func overlayValue(out, base, over reflect.Value) {
	switch {
	case !isMentioned(over):
		out.Set(base)
	case !isMentioned(base):
		out.Set(over)
	case over.Kind() == reflect.Pointer && hasFields(over.Type().Elem()):
		p := reflect.New(over.Type().Elem())
		overlayValue(p.Elem(), base.Elem(), over.Elem())
		out.Set(p)
	case hasFields(over.Type()):
		for k := range over.NumField() {
			overlayValue(out.Field(k), base.Field(k), over.Field(k))
		}
	case over.Kind() == reflect.Map:
		out.Set(overlayMap(base, over))
	default:
		out.Set(over)
	}
}

func overlayMap(base, over reflect.Value) reflect.Value {
	m := reflect.MakeMap(over.Type())
	for _, from := range []reflect.Value{base, over} {
		for _, k := range from.MapKeys() {
			v := from.MapIndex(k)
			if v.Kind() == reflect.Pointer && v.IsNil() {
				m.SetMapIndex(k, reflect.Value{}) // null takes the key away
				continue
			}
			m.SetMapIndex(k, v)
		}
	}
	return m
}

// hasFields says that a struct consists of keys; one that is a value of its own has none.
func hasFields(t reflect.Type) bool { return t.Kind() == reflect.Struct && len(Fields(t)) > 0 }

// Difference is a key that is not as wanted.
type Difference struct {
	Path, Want, Got string
	// Unknown says that the other side does not mention the key.
	Unknown bool
}

// Missing are the keys that want asks for and got has otherwise or not at all. Lists must be equal.
func Missing(want, got any) []Difference {
	var out []Difference
	appendMissing(reflect.ValueOf(want), reflect.ValueOf(got), "", &out)
	return out
}

func appendMissing(want, got reflect.Value, path string, out *[]Difference) {
	if !isMentioned(want) {
		return
	}
	unknown := !isMentioned(got) // false behind a pointer is said
	if want.Kind() == reflect.Pointer {
		if got.IsNil() {
			got = reflect.Zero(got.Type().Elem())
			if !hasFields(got.Type()) {
				*out = append(*out, Difference{Path: path, Want: Show(want.Elem()), Got: "nothing", Unknown: true})
				return
			}
		} else {
			got = got.Elem()
		}
		want = want.Elem()
	}
	switch {
	case hasFields(want.Type()):
		for _, f := range Fields(want.Type()) {
			if !f.Asks() {
				continue
			}
			if f.Secret {
				appendMissingSecret(want.Field(f.Index), got.Field(f.Index), joinPath(path, f.Key), out)
				continue
			}
			appendMissing(want.Field(f.Index), got.Field(f.Index), joinPath(path, f.Key), out)
		}
	case want.Kind() == reflect.Map:
		appendMissingKeys(want, got, path, out)
	case !reflect.DeepEqual(want.Interface(), got.Interface()) && (want.Kind() != reflect.Slice || want.Len()+got.Len() > 0):
		*out = append(*out, Difference{Path: path, Want: Show(want), Got: Show(got), Unknown: unknown})
	}
}

func appendMissingKeys(want, got reflect.Value, path string, out *[]Difference) {
	keys := want.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		w, g := want.MapIndex(k), got.MapIndex(k)
		if w.Kind() == reflect.Pointer && w.IsNil() {
			if g.IsValid() && !g.IsNil() {
				*out = append(*out, Difference{Path: joinPath(path, k.String()), Want: "nothing", Got: Show(g)})
			}
			continue
		}
		if !g.IsValid() || !reflect.DeepEqual(w.Interface(), g.Interface()) {
			*out = append(*out, Difference{Path: joinPath(path, k.String()), Want: Show(w), Got: Show(g)})
		}
	}
}

// Changed is the part of want that is otherwise in got: the inverse of Overlay, for Overlay(got, Changed(want, got))
// has all that want asks for. What is equal is left out, and what has no effect where it is asked for.
func Changed[T any](want, got T) T {
	var out T
	copyChanged(reflect.ValueOf(&out).Elem(), reflect.ValueOf(want), reflect.ValueOf(got))
	return out
}

func copyChanged(out, want, got reflect.Value) {
	switch {
	case !isMentioned(want):
	case !isMentioned(got):
		out.Set(want)
	case want.Kind() == reflect.Pointer && hasFields(want.Type().Elem()):
		p := reflect.New(want.Type().Elem())
		copyChanged(p.Elem(), want.Elem(), got.Elem())
		if !p.Elem().IsZero() {
			out.Set(p)
		}
	case hasFields(want.Type()):
		for _, f := range Fields(want.Type()) {
			keeps := f.Secret && want.Field(f.Index).String() == Hidden && isMentioned(got.Field(f.Index))
			if f.Asks() && !keeps {
				copyChanged(out.Field(f.Index), want.Field(f.Index), got.Field(f.Index))
			}
		}
	case want.Kind() == reflect.Map:
		m := reflect.MakeMap(want.Type())
		for _, k := range want.MapKeys() {
			g := got.MapIndex(k)
			if !g.IsValid() || !reflect.DeepEqual(want.MapIndex(k).Interface(), g.Interface()) {
				m.SetMapIndex(k, want.MapIndex(k))
			}
		}
		if m.Len() > 0 {
			out.Set(m)
		}
	case want.Kind() == reflect.Slice && want.Len()+got.Len() == 0:
	case !reflect.DeepEqual(want.Interface(), got.Interface()):
		out.Set(want)
	}
}

// Show writes a value on one line for a message, cut where it is long.
func Show(v reflect.Value) string {
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && v.IsNil() {
		return "nothing"
	}
	n, err := valueNode(v)
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	s := formatFlow(n)
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:197], "") + "..."
	}
	return s
}
