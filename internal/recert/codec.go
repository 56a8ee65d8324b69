package recert

import (
	"bytes"
	"encoding/base64"
	"fmt"

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
	changed bool
}

// newObject refuses encodings whose texts cannot be reached.
func newObject(kv host.KeyValue) (*object, error) {
	switch {
	case bytes.HasPrefix(kv.Value, encryptedMagic):
		return nil, fmt.Errorf("%s is encrypted at rest, which is not supported", kv.Key)
	case bytes.HasPrefix(kv.Value, cborMagic):
		return nil, fmt.Errorf("%s is encoded as CBOR, which is not supported", kv.Key)
	}
	return &object{key: kv.Key, mod: kv.ModRevision, value: kv.Value}, nil
}

// edit visits the object's texts; those of a Secret's data come decoded in both encodings. Kinds without a schema
// have no texts.
func (o *object) edit(visit visitor) error {
	var out []byte
	var err error
	switch {
	case bytes.HasPrefix(o.value, protobufMagic):
		out, err = editEnvelope(o.value, visit)
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

func (o *object) editJSON(visit visitor) ([]byte, error) {
	if !bytes.Contains(o.value[:min(len(o.value), 256)], []byte(`"kind":"Secret"`)) {
		return editJSON(o.value, visit)
	}
	return editJSON(o.value, func(path []string, text string) (string, bool) {
		if len(path) != 2 || path[0] != "data" {
			return visit(path, text)
		}
		plain, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", false
		}
		edited, changed := visit(path, string(plain))
		return base64.StdEncoding.EncodeToString([]byte(edited)), changed
	})
}

// editEnvelope edits the object inside runtime.Unknown {1: typeMeta {1: apiVersion, 2: kind}, 2: raw}.
func editEnvelope(value []byte, visit visitor) ([]byte, error) {
	body := value[len(protobufMagic):]
	kind, err := envelopeKind(body)
	if err != nil {
		return nil, err
	}
	schema, ok := schemas[kind]
	if !ok {
		return value, nil
	}
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
