// Package schema is the table of nmstate's schema: which keys are supported, partly, or not. It is derived from the
// document's own types, so a key that is added there is in the table; what the types cannot say are the rows of package keys.
// hack/schematable prints it for the documentation. It does no I/O and imports netstate.
package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Key is one line of the table.
type Key struct {
	// Path is as error messages write it, with [] for the items of a list.
	Path    string
	Support keys.Support
	// Aliases are other spellings that are read.
	Aliases []string
	Note    string
	// Values are what the key takes, where that is a list of words or a range.
	Values string
	// Witness tells after a change that the key is in force.
	Witness keys.Witness
	// Property of a NetworkManager connection that holds it; empty where none does.
	Property string
}

// Keys are all keys of a document, those of an inner part after it.
func Keys() []Key {
	var out []Key
	appendKeys(reflect.TypeFor[netstate.Document](), "", &out)
	return out
}

func appendKeys(t reflect.Type, path string, out *[]Key) {
	for _, f := range tree.Fields(t) {
		k := Key{Path: tree.Join(path, f.Key), Support: keys.Full, Aliases: f.Aliases}
		inner, list := elementOf(t.Field(f.Index).Type)
		switch f.Support {
		case "read":
			k.Support = keys.Read
		case "no":
			k.Support = keys.No
		}
		k.describe(keys.Of(k.Path))
		*out = append(*out, k)
		if inner.Kind() != reflect.Struct || len(tree.Fields(inner)) == 0 || k.Support == keys.No || k.Support == keys.Read {
			continue
		}
		if list {
			k.Path += "[]"
		}
		appendKeys(inner, k.Path, out)
	}
}

// describe adds what the rows of the key say.
func (k *Key) describe(rows []keys.Row) {
	var properties []string
	for _, r := range rows {
		k.Support, k.Note, k.Witness = cmp.Or(r.Support, k.Support), cmp.Or(k.Note, r.Note), cmp.Or(k.Witness, r.Witness)
		k.Values = cmp.Or(k.Values, valuesOf(r))
		if p := r.Property.String(); p != "" {
			properties = append(properties, p)
		}
	}
	k.Property = strings.Join(properties, ", ")
}

func valuesOf(r keys.Row) string {
	switch {
	case r.Words != nil:
		return strings.Join(r.Words, ", ")
	case r.High != 0:
		return fmt.Sprintf("%d to %d", r.Low, r.High)
	}
	return ""
}

// elementOf is the type inside pointers and a list.
func elementOf(t reflect.Type) (inner reflect.Type, list bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		list = list || t.Kind() == reflect.Slice
		t = t.Elem()
	}
	return t, list
}
