package tree

import (
	"reflect"
	"strconv"
	"strings"
)

// At is the field of a struct, pointed to, that a path of keys leads to. Parts that the document does not have are made where
// create is true; otherwise, and for a path that leads nowhere, it returns false.
func At(document any, path string, create bool) (reflect.Value, bool) {
	v := reflect.ValueOf(document).Elem()
	for path != "" {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() && !create {
				return reflect.Value{}, false
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		if !hasFields(v.Type()) {
			return reflect.Value{}, false
		}
		l := layoutOf(v.Type())
		n, rest, ok := l.cutKey(path)
		if !ok {
			return reflect.Value{}, false
		}
		v, path = v.Field(l.fields[n].Index), rest
	}
	return v, true
}

// cutKey finds the field of a path's first key, which may have a dot itself (802.1x), and the rest of the path.
func (l *layout) cutKey(path string) (field int, rest string, found bool) {
	for end := range len(path) + 1 {
		if end < len(path) && path[end] != '.' {
			continue
		}
		if n, known := l.byKey[path[:end]]; known {
			return n, strings.TrimPrefix(path[end:], "."), true
		}
	}
	return 0, "", false
}

// Mention is a key that a document has, with keys of its own or without.
type Mention struct {
	// Key is the path in the schema, as interfaces[].mtu.
	Key string
	// Path is that of messages, as interfaces[eth0].mtu.
	Path  string
	Value reflect.Value
	// Support is the field's.
	Support string
}

// Mentions are the keys that a document has, each part before what it is made of. Items of lists are named by their name where
// they have one.
func Mentions(document any) []Mention {
	var out []Mention
	appendMentions(reflect.ValueOf(document), Mention{}, &out)
	return out
}

// appendMentions appends what v has; m says where it is.
func appendMentions(v reflect.Value, m Mention, out *[]Mention) {
	if !isMentioned(v) {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if m.Key != "" {
		m.Value = v
		*out = append(*out, m)
	}
	switch {
	case hasFields(v.Type()):
		for _, f := range Fields(v.Type()) {
			at := Mention{Key: joinPath(m.Key, f.Key), Path: joinPath(m.Path, f.Key), Support: f.Support}
			appendMentions(v.Field(f.Index), at, out)
		}
	case v.Kind() == reflect.Slice && hasFields(v.Type().Elem()):
		for n := range v.Len() {
			at := Mention{Key: m.Key + "[]", Path: m.Path + "[" + itemName(v.Index(n), n) + "]", Support: m.Support}
			appendMentions(v.Index(n), at, out)
		}
	}
}

func itemName(item reflect.Value, n int) string {
	if k, ok := layoutOf(item.Type()).byKey["name"]; ok {
		field := item.Field(layoutOf(item.Type()).fields[k].Index)
		if field.Kind() == reflect.String && field.Len() > 0 {
			return field.String()
		}
	}
	return strconv.Itoa(n)
}
