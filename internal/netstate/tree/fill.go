package tree

import (
	"errors"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds a document after its aliases, against those that unfold without end.
const maxNodes = 2_000_000

// Format is what a kind of document has of its own: how values are read, and the words for what is wrong.
type Format interface {
	// ReadValue reads a node into a value of a type that the format reads by itself, and says whether it is one.
	ReadValue(n *yaml.Node, v reflect.Value, path string) bool
	// ReadScalar reads a single value into a text, a number, a truth, or what the format knows besides.
	ReadScalar(n *yaml.Node, v reflect.Value) error
	// LabelItem is how a path names an item of a list; index counts from 0.
	LabelItem(item *yaml.Node, index int) string
	// Refuse is called with each mistake, in the order of the document.
	Refuse(r Refusal)
}

// Shorthand is a struct of which a bare value gives one key.
type Shorthand interface{ ShortKey() string }

// Pruner is a struct that ignores keys because of the value of others: those for which Keeps answers no are
// not looked at.
type Pruner interface {
	Keeps(key string, value func(key string) string) bool
}

// Fill sets a struct, given by its pointer, from a node. It goes on after a mistake; what it cannot place, the format refuses.
func Fill(into any, n *yaml.Node, f Format) {
	w := &walk{format: f}
	w.fillValue(n, reflect.ValueOf(into).Elem(), "")
}

type walk struct {
	format Format
	nodes  int
}

func (w *walk) refuseNode(m Mistake, n *yaml.Node, v reflect.Value, path string) {
	w.format.Refuse(Refusal{Mistake: m, At: n, Path: path, Into: v.Type()})
}

// fillValue fills in one node; a null leaves what is there, which is nothing.
func (w *walk) fillValue(n *yaml.Node, v reflect.Value, path string) {
	n, ok := w.resolveAlias(n, v.Type(), path)
	if !ok || isNull(n) {
		return
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		w.fillValue(n, p.Elem(), path)
		v.Set(p)
		return
	}
	if w.format.ReadValue(n, v, path) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		w.fillStruct(n, v, path)
	case reflect.Slice:
		w.fillList(n, v, path)
	case reflect.Map:
		w.fillMap(n, v, path)
	default:
		w.fillScalar(n, v, path)
	}
}

func isNull(n *yaml.Node) bool { return n.Tag == "!!null" && n.Kind == yaml.ScalarNode }

// resolveAlias follows aliases and counts, so that a document cannot unfold without end.
func (w *walk) resolveAlias(n *yaml.Node, into reflect.Type, path string) (*yaml.Node, bool) {
	if w.nodes++; w.nodes > maxNodes {
		if w.nodes == maxNodes+1 {
			w.format.Refuse(Refusal{Mistake: BadValue, At: n, Path: path, Into: into,
				Err: fmt.Errorf("the document has more than %d values", maxNodes)})
		}
		return nil, false
	}
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n, true
}

func (w *walk) fillStruct(n *yaml.Node, v reflect.Value, path string) {
	l := layoutOf(v.Type())
	if s, ok := v.Interface().(Shorthand); ok && n.Kind == yaml.ScalarNode {
		w.fillValue(n, v.Field(l.fields[l.byKey[s.ShortKey()]].Index), path)
		return
	}
	seen := map[int]string{}
	pruner, _ := v.Interface().(Pruner)
	w.eachPair(n, v, path, func(key string, at, value *yaml.Node) {
		if pruner != nil && !pruner.Keeps(key, func(k string) string { return Scalar(n, k) }) {
			return
		}
		pos, known := l.byKey[key]
		if !known {
			w.format.Refuse(Refusal{Mistake: UnknownKey, At: at, Path: joinPath(path, key), Into: v.Type(), Key: key, Known: l.fields})
			return
		}
		if before, twice := seen[pos]; twice {
			w.format.Refuse(Refusal{Mistake: KeyTwice, At: at, Path: joinPath(path, key), Into: v.Type(), Key: before})
			return
		}
		seen[pos] = key
		if hint := l.fields[pos].Filled; hint != "" && value.Kind == yaml.ScalarNode && value.Value == "" && !isNull(value) {
			w.format.Refuse(Refusal{Mistake: BadValue, At: value, Path: joinPath(path, l.fields[pos].Key), Into: v.Type(),
				Err: errors.New("is empty; " + hint)})
			return
		}
		w.fillValue(value, v.Field(l.fields[pos].Index), joinPath(path, l.fields[pos].Key))
	})
}

// eachPair calls fn for each key of a mapping.
func (w *walk) eachPair(n *yaml.Node, v reflect.Value, path string, fn func(key string, at, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		w.refuseNode(NotKeys, n, v, path)
		return
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		if n.Content[k].Kind != yaml.ScalarNode {
			w.refuseNode(KeyNoWord, n.Content[k], v, path)
			continue
		}
		fn(n.Content[k].Value, n.Content[k], n.Content[k+1])
	}
}

func (w *walk) fillList(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		w.refuseNode(NotList, n, v, path)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for k, item := range n.Content {
		at := fmt.Sprintf("%s[%s]", path, w.format.LabelItem(item, k))
		if isNull(item) {
			w.refuseNode(EmptyItem, item, v, at)
			continue
		}
		w.fillValue(item, out.Index(k), at)
	}
	v.Set(out)
}

func (w *walk) fillMap(n *yaml.Node, v reflect.Value, path string) {
	out := reflect.MakeMap(v.Type())
	w.eachPair(n, v, path, func(key string, at, value *yaml.Node) {
		name := reflect.ValueOf(key).Convert(v.Type().Key())
		if out.MapIndex(name).IsValid() {
			w.format.Refuse(Refusal{Mistake: KeyTwice, At: at, Path: joinPath(path, key), Into: v.Type(), Key: key})
			return
		}
		item := reflect.New(v.Type().Elem()).Elem()
		w.fillValue(value, item, joinPath(path, key))
		out.SetMapIndex(name, item)
	})
	v.Set(out)
}

func (w *walk) fillScalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		w.refuseNode(NotScalar, n, v, path)
		return
	}
	if err := w.format.ReadScalar(n, v); err != nil {
		w.format.Refuse(Refusal{Mistake: BadValue, At: n, Path: path, Into: v.Type(), Err: err})
	}
}

// Mistake is a kind of thing that is wrong with a place of a document.
type Mistake int

// The mistakes.
const (
	BadValue   Mistake = iota // Err says why
	NotKeys                   // there is no mapping
	NotList                   // there is no list
	NotScalar                 // there is no single value
	UnknownKey                // Key, where Known are
	KeyTwice                  // the first time as Key
	KeyNoWord                 // a key is a list or a mapping
	EmptyItem                 // an item of a list is null
)

// Refusal is a place of a document that cannot be taken, before it is put in words.
type Refusal struct {
	Mistake Mistake
	// At is what stands there, and Into the type that it was to fill.
	At   *yaml.Node
	Into reflect.Type
	Path string
	// Key and Known are explained at the mistakes.
	Key   string
	Known []Field
	Err   error
}

// formatReason is what Decode says.
func (r Refusal) formatReason() string {
	switch r.Mistake {
	case NotKeys:
		return "must be a set of keys, not " + kindOf(r.At)
	case NotList:
		return "must be a list, not " + kindOf(r.At)
	case NotScalar:
		return fmt.Sprintf("must be %s, not %s", wantedKind(r.Into), kindOf(r.At))
	case UnknownKey:
		names := make([]string, len(r.Known))
		for k, f := range r.Known {
			names[k] = f.Key
		}
		if near := Nearest(r.Key, names); near != "" {
			return fmt.Sprintf("unknown key; did you mean %q?", near)
		}
		return "unknown key"
	case KeyTwice:
		return fmt.Sprintf("the key is there already, as %q", r.Key)
	case KeyNoWord:
		return "a key must be a word, not " + kindOf(r.At)
	case EmptyItem:
		return "is empty"
	default:
		return r.Err.Error()
	}
}
