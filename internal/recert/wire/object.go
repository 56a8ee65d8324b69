package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// EditText changes one text of an object.
func (o *Object) EditText(path string, change func(string) (string, error)) error {
	var failed error
	err := o.Edit(func(at []string, text string) (string, bool) {
		if !MatchPath(FieldPath(path), at) {
			return text, false
		}
		edited, err := change(text)
		if err != nil {
			failed = fmt.Errorf("%s of %s: %w", path, o.Key, err)
			return text, false
		}
		return edited, edited != text
	})
	return errors.Join(err, failed)
}

// Prefixes of the encodings of kube-apiserver (k8s.io/apimachinery runtime/serializer, RFC 8949 3.4.6).
var (
	protobufMagic  = []byte("k8s\x00")
	encryptedMagic = []byte("k8s:enc:")
	cborMagic      = []byte{0xd9, 0xd9, 0xf7}
)

// Object is a value of the store, edited in the encoding it was found in.
type Object struct {
	Key         string
	ModRevision int64
	Value       []byte
	Was         []byte // when it was read
	Changed     bool
	// MovesTo is the key that the object gets, if another.
	MovesTo string
}

// ErrEncrypted is a value that kube-apiserver stored encrypted.
var ErrEncrypted = errors.New("is encrypted at rest")

// NewObject refuses what cannot be read: values encrypted at rest, with errEncrypted.
func NewObject(kv host.KeyValue) (*Object, error) {
	if bytes.HasPrefix(kv.Value, encryptedMagic) {
		return nil, fmt.Errorf("%s %w", kv.Key, ErrEncrypted)
	}
	return &Object{Key: kv.Key, ModRevision: kv.ModRevision, Value: kv.Value, Was: kv.Value}, nil
}

// Edit visits the object's texts; those of a Secret's data come decoded in both encodings. Kinds without a schema
// have no texts.
func (o *Object) Edit(visit Visitor) error {
	var out []byte
	var err error
	switch {
	case bytes.HasPrefix(o.Value, protobufMagic):
		out, err = editEnvelope(o.Value, visit)
	case bytes.HasPrefix(o.Value, cborMagic):
		out, err = o.editCBOR(visit)
	case bytes.HasPrefix(o.Value, []byte("{")):
		out, err = o.editJSON(visit)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("edit %s: %w", o.Key, err)
	}
	if !bytes.Equal(out, o.Value) {
		o.Value, o.Changed = out, true
	}
	return nil
}

// Walk shows the object's texts.
func (o *Object) Walk(see func(path []string, text string)) error {
	return o.Edit(func(path []string, text string) (string, bool) {
		see(path, text)
		return "", false
	})
}

// editCBOR edits the document after its prefix.
func (o *Object) editCBOR(visit Visitor) ([]byte, error) {
	body := o.Value[len(cborMagic):]
	out, err := editCBOR(body, decodingVisitor(visit))
	if err != nil || bytes.Equal(out, body) {
		return o.Value, err
	}
	return append(bytes.Clone(cborMagic), out...), nil
}

// jsonSecret is near the beginning of a Secret in JSON.
const (
	jsonSecret = `"kind":"Secret"`
	kindWithin = 256
)

func (o *Object) editJSON(visit Visitor) ([]byte, error) {
	visit = decodingVisitor(visit)
	if !bytes.Contains(o.Value[:min(len(o.Value), kindWithin)], []byte(jsonSecret)) {
		return EditJSON(o.Value, visit)
	}
	return EditJSON(o.Value, func(path []string, text string) (string, bool) {
		if len(path) != 2 || path[0] != "data" {
			return visit(path, text)
		}
		return viaBase64(visit, path, text)
	})
}

// base64PEM is in the base64 of every PEM block: five dashes contain it at each of the three alignments. PEM is stored so in []byte
// fields of types without a schema here, such as the caBundle of an APIService or the certificates of a ControllerConfig.
const base64PEM = "0tLS"

// decodingVisitor lets a visitor see PEM in base64 as what it is.
func decodingVisitor(visit Visitor) Visitor {
	return func(path []string, text string) (string, bool) {
		if plain, ok := pemWithin(text); ok {
			return visitBase64(visit, path, plain)
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
	plain = TextOf(content)
	return plain, err == nil && strings.Contains(plain, PEMBegin)
}

func viaBase64(visit Visitor, path []string, text string) (string, bool) {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	return visitBase64(visit, path, string(plain))
}

// visitBase64 shows a text in plain, and returns it in base64.
func visitBase64(visit Visitor, path []string, plain string) (string, bool) {
	edited, changed := visit(path, plain)
	if !changed {
		return "", false
	}
	return base64.StdEncoding.EncodeToString([]byte(edited)), true
}

// editEnvelope edits the object inside runtime.Unknown {1: typeMeta {1: apiVersion, 2: kind}, 2: raw}.
func editEnvelope(value []byte, visit Visitor) ([]byte, error) {
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
func editEnvelopeAs(value []byte, schema protoSchema, visit Visitor) ([]byte, error) {
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

// EditDataKeys renames entries of a Secret's data.
func (o *Object) EditDataKeys(rename func(key string) (string, bool)) error {
	var out []byte
	var err error
	inData := func(at []string, key string) (string, bool) {
		if len(at) != 1 || at[0] != "data" {
			return key, false
		}
		return rename(key)
	}
	switch {
	case bytes.HasPrefix(o.Value, protobufMagic):
		out, err = editEnvelopeAs(o.Value, protoSchema{2: {name: "data", kind: protoMessage, sub: protoSchema{1: {name: "key"}}}},
			func(_ []string, key string) (string, bool) { return rename(key) })
	case bytes.HasPrefix(o.Value, cborMagic):
		out, err = editCBORKeys(o.Value[len(cborMagic):], inData)
		out = append(bytes.Clone(cborMagic), out...)
	case bytes.HasPrefix(o.Value, []byte("{")):
		out, err = editJSONKeys(o.Value, inData)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("rename entries of %s: %w", o.Key, err)
	}
	if !bytes.Equal(out, o.Value) {
		o.Value, o.Changed = out, true
	}
	return nil
}

// MayHoldPEM reports whether a stored object may hold PEM, and whether it may hold key material in another form. All encodings store texts
// as they are, except for the data of a Secret in JSON, which always has to be read.
func MayHoldPEM(value []byte) (pem, other bool) {
	text := TextOf(value)
	if strings.HasPrefix(text, "{") && strings.Contains(text[:min(len(text), kindWithin)], jsonSecret) {
		return true, true
	}
	return strings.Contains(text, PEMBegin), strings.Contains(text, embedded) || MayHoldDataURL(text) || strings.Contains(text, base64PEM)
}

// Metadata is what the rules want to know of ObjectMeta.
type Metadata struct {
	Labels, Annotations map[string]string
	Owned               bool
}

// Metadata reads what rules compare.
func (o *Object) Metadata() (Metadata, error) {
	meta := Metadata{Labels: map[string]string{}, Annotations: map[string]string{}}
	err := o.Walk(func(at []string, text string) {
		if len(at) < 3 || at[0] != "metadata" {
			return
		}
		switch at[1] {
		case "labels":
			meta.Labels[at[2]] = text
		case "annotations":
			meta.Annotations[at[2]] = text
		case "ownerReferences":
			meta.Owned = true
		}
	})
	return meta, err
}

// Set writes texts that the object has, by path; an empty one need not be there.
func (o *Object) Set(texts map[string]string) error {
	missing := map[string]bool{}
	for path, text := range texts {
		if text != "" {
			missing[path] = true
		}
	}
	err := o.Edit(func(at []string, text string) (string, bool) {
		path := strings.Join(at, "/")
		want, ok := texts[path]
		delete(missing, path)
		return want, ok && want != text
	})
	if err != nil {
		return err
	}
	for path := range missing {
		return fmt.Errorf("%s has no %s to write into", o.Key, path)
	}
	return nil
}
