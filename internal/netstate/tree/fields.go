// Package tree walks documents that are described by Go structs: it decodes YAML into them with the path and line
// of everything that is wrong, and encodes them in the order of their fields. Package netstate and its other
// sub-packages call it; it knows no key of its own and imports the standard library and a YAML parser.
//
// A struct says what its keys are by the tags json (the name), alias (other spellings that are read), support
// ("read": reported, has no effect where it is asked for; "no": known to the format, not supported here), filled (an empty text is
// refused; the tag says what to do) and secret (a text that Hide takes out).
package tree

import (
	"reflect"
	"strings"
	"sync"
)

// Field is one key of a struct.
type Field struct {
	Index   int
	Key     string
	Aliases []string
	// Support is the tag of this name: "", "read" or "no".
	Support string
	// Filled says what to do about an empty text, which is refused; empty where one is taken.
	Filled string
	// Secret texts are shown nowhere.
	Secret bool
	// OmitEmpty and OmitZero are the options of the json tag.
	OmitEmpty, OmitZero bool
}

type layout struct {
	fields []Field
	byKey  map[string]int
}

// A layout never changes once it is made, so the cache is no state.
var layouts sync.Map

// Asks says that a key has an effect where it is asked for.
func (f Field) Asks() bool { return f.Support == "" }

// Fields are the keys of a struct type, in their order.
func Fields(t reflect.Type) []Field { return layoutOf(t).fields }

func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{byKey: map[string]int{}}
	for n := range t.NumField() {
		f := t.Field(n)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" || key == "-" {
			continue
		}
		field := Field{Index: n, Key: key, Support: f.Tag.Get("support"), Filled: f.Tag.Get("filled"),
			Secret:    f.Tag.Get("secret") != "",
			OmitEmpty: strings.Contains(options, "omitempty"), OmitZero: strings.Contains(options, "omitzero")}
		if a := f.Tag.Get("alias"); a != "" {
			field.Aliases = strings.Split(a, ",")
		}
		l.byKey[key] = len(l.fields)
		for _, a := range field.Aliases {
			l.byKey[a] = len(l.fields)
		}
		l.fields = append(l.fields, field)
	}
	layouts.Store(t, l)
	return l
}
