package recert

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Prefixes that tell how kube-apiserver encoded a value (k8s.io/apimachinery runtime/serializer, RFC 8949 3.4.6).
var (
	protobufMagic  = []byte("k8s\x00")
	encryptedMagic = []byte("k8s:enc:")
	cborMagic      = []byte{0xd9, 0xd9, 0xf7}
)

// object is a value of the store, edited in the encoding it was found in.
type object struct {
	key     string
	mod     int64
	value   []byte
	was     []byte // when it was read
	changed bool
	// movesTo is the key that the object gets, if another.
	movesTo string
}

// textOf is a part of a value as a text. It is not copied, for nobody writes to a value that was read: edits make another.
func textOf(part []byte) string { return unsafe.String(unsafe.SliceData(part), len(part)) }

// errEncrypted says that kube-apiserver encrypted the value before it stored it.
var errEncrypted = errors.New("is encrypted at rest")

// newObject refuses what cannot be read: values encrypted at rest, with errEncrypted.
func newObject(kv host.KeyValue) (*object, error) {
	if bytes.HasPrefix(kv.Value, encryptedMagic) {
		return nil, fmt.Errorf("%s %w", kv.Key, errEncrypted)
	}
	return &object{key: kv.Key, mod: kv.ModRevision, value: kv.Value, was: kv.Value}, nil
}

// edit visits the object's texts; those of a Secret's data come decoded in both encodings. Kinds without a schema
// have no texts.
func (o *object) edit(visit visitor) error {
	var out []byte
	var err error
	switch {
	case bytes.HasPrefix(o.value, protobufMagic):
		out, err = editEnvelope(o.value, visit)
	case bytes.HasPrefix(o.value, cborMagic):
		out, err = o.editCBOR(visit)
	case bytes.HasPrefix(o.value, []byte("{")):
		out, err = o.editJSON(visit)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("edit %s: %w", o.key, err)
	}
	if !bytes.Equal(out, o.value) {
		o.value, o.changed = out, true
	}
	return nil
}

// walk shows the object's texts.
func (o *object) walk(see func(path []string, text string)) error {
	return o.edit(func(path []string, text string) (string, bool) {
		see(path, text)
		return "", false
	})
}

// editCBOR edits the document after its prefix.
func (o *object) editCBOR(visit visitor) ([]byte, error) {
	body := o.value[len(cborMagic):]
	out, err := editCBOR(body, decoded(visit))
	if err != nil || bytes.Equal(out, body) {
		return o.value, err
	}
	return append(bytes.Clone(cborMagic), out...), nil
}

// jsonSecret tells a Secret in JSON, near its beginning.
const (
	jsonSecret = `"kind":"Secret"`
	kindWithin = 256
)

func (o *object) editJSON(visit visitor) ([]byte, error) {
	visit = decoded(visit)
	if !bytes.Contains(o.value[:min(len(o.value), kindWithin)], []byte(jsonSecret)) {
		return editJSON(o.value, visit)
	}
	return editJSON(o.value, func(path []string, text string) (string, bool) {
		if len(path) != 2 || path[0] != "data" {
			return visit(path, text)
		}
		return viaBase64(visit, path, text)
	})
}

// base64PEM is in every PEM block in base64, wherever the block begins: five dashes hold it in each of the three ways in which bytes meet
// digits. PEM stands so in a []byte field of a type that this package has no schema for, such as the caBundle of an APIService or the
// certificates of a ControllerConfig.
const base64PEM = "0tLS"

// decoded lets a visitor see PEM in base64 as what it is.
func decoded(visit visitor) visitor {
	return func(path []string, text string) (string, bool) {
		if plain, ok := pemWithin(text); ok {
			return encoded(visit, path, plain)
		}
		return visit(path, text)
	}
}

// pemWithin decodes a text that is base64, and PEM within.
func pemWithin(text string) (plain string, ok bool) {
	if !strings.Contains(text, base64PEM) {
		return "", false
	}
	content, err := base64.StdEncoding.DecodeString(text)
	plain = textOf(content)
	return plain, err == nil && strings.Contains(plain, pemBegin)
}

func viaBase64(visit visitor, path []string, text string) (string, bool) {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	return encoded(visit, path, string(plain))
}

// encoded shows a text in plain, and returns it in base64.
func encoded(visit visitor, path []string, plain string) (string, bool) {
	edited, changed := visit(path, plain)
	if !changed {
		return "", false
	}
	return base64.StdEncoding.EncodeToString([]byte(edited)), true
}

// editEnvelope edits the object inside runtime.Unknown {1: typeMeta {1: apiVersion, 2: kind}, 2: raw}.
func editEnvelope(value []byte, visit visitor) ([]byte, error) {
	kind, err := envelopeKind(value[len(protobufMagic):])
	if err != nil {
		return nil, err
	}
	schema, ok := schemas[kind]
	if !ok {
		return value, nil
	}
	return editEnvelopeAs(value, schema, visit)
}

// editEnvelopeAs edits the object inside by the given schema.
func editEnvelopeAs(value []byte, schema protoSchema, visit visitor) ([]byte, error) {
	body := value[len(protobufMagic):]
	envelope := protoSchema{2: {name: "raw", kind: protoMessage, sub: schema}}
	out, changed, err := editProto(body, envelope, nil, func(path []string, text string) (string, bool) {
		return visit(path[1:], text)
	})
	if err != nil || !changed {
		return value, err
	}
	return append(bytes.Clone(protobufMagic), out...), nil
}

func envelopeKind(body []byte) (string, error) {
	var kind string
	typeMeta := protoSchema{1: {name: "typeMeta", kind: protoMessage, sub: protoSchema{2: {name: "kind"}}}}
	_, _, err := editProto(body, typeMeta, nil, func(_ []string, text string) (string, bool) {
		kind = text
		return "", false
	})
	return kind, err
}

// editDataKeys renames entries of a Secret's data.
func (o *object) editDataKeys(rename func(key string) (string, bool)) error {
	var out []byte
	var err error
	inData := func(at []string, key string) (string, bool) {
		if len(at) != 1 || at[0] != "data" {
			return key, false
		}
		return rename(key)
	}
	switch {
	case bytes.HasPrefix(o.value, protobufMagic):
		out, err = editEnvelopeAs(o.value, protoSchema{2: {name: "data", kind: protoMessage, sub: protoSchema{1: {name: "key"}}}},
			func(_ []string, key string) (string, bool) { return rename(key) })
	case bytes.HasPrefix(o.value, cborMagic):
		out, err = editCBORKeys(o.value[len(cborMagic):], inData)
		out = append(bytes.Clone(cborMagic), out...)
	case bytes.HasPrefix(o.value, []byte("{")):
		out, err = editJSONKeys(o.value, inData)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("rename entries of %s: %w", o.key, err)
	}
	if !bytes.Equal(out, o.value) {
		o.value, o.changed = out, true
	}
	return nil
}
