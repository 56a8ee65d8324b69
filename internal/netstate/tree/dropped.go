package tree

import "reflect"

// Dropped is the part of back whose keys last mentions and next does not: what to say so that a key which a document no longer has is
// as back says. Lists are keys as a whole.
func Dropped[T any](back, last, next T) T {
	var out T
	copyDropped(reflect.ValueOf(&out).Elem(), reflect.ValueOf(back), reflect.ValueOf(last), reflect.ValueOf(next))
	return out
}

func copyDropped(out, back, last, next reflect.Value) {
	switch {
	case !isMentioned(back), !isMentioned(last):
	case !isMentioned(next):
		out.Set(back)
	case back.Kind() == reflect.Pointer && hasFields(back.Type().Elem()):
		p := reflect.New(back.Type().Elem())
		copyDropped(p.Elem(), back.Elem(), last.Elem(), next.Elem())
		if !p.Elem().IsZero() {
			out.Set(p)
		}
	case hasFields(back.Type()):
		for k := range back.NumField() {
			copyDropped(out.Field(k), back.Field(k), last.Field(k), next.Field(k))
		}
	case back.Kind() == reflect.Map:
		m := reflect.MakeMap(back.Type())
		for _, k := range back.MapKeys() {
			if last.MapIndex(k).IsValid() && !next.MapIndex(k).IsValid() {
				m.SetMapIndex(k, back.MapIndex(k))
			}
		}
		if m.Len() > 0 {
			out.Set(m)
		}
	}
}

// Without is base without the keys that part mentions.
func Without[T any](base, part T) T {
	var out T
	copyWithout(reflect.ValueOf(&out).Elem(), reflect.ValueOf(base), reflect.ValueOf(part))
	return out
}

func copyWithout(out, base, part reflect.Value) {
	switch {
	case !isMentioned(base):
	case !isMentioned(part):
		out.Set(base)
	case base.Kind() == reflect.Pointer && hasFields(base.Type().Elem()):
		p := reflect.New(base.Type().Elem())
		copyWithout(p.Elem(), base.Elem(), part.Elem())
		if !p.Elem().IsZero() {
			out.Set(p)
		}
	case hasFields(base.Type()):
		for k := range base.NumField() {
			copyWithout(out.Field(k), base.Field(k), part.Field(k))
		}
	case base.Kind() == reflect.Map:
		m := reflect.MakeMap(base.Type())
		for _, k := range base.MapKeys() {
			if !part.MapIndex(k).IsValid() {
				m.SetMapIndex(k, base.MapIndex(k))
			}
		}
		if m.Len() > 0 {
			out.Set(m)
		}
	}
}
