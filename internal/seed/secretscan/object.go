package secretscan

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Prefixes of the store's keys.
const (
	storagePrefix = "/kubernetes.io/"
	helmSecret    = "sh.helm.release.v1."
)

// ReferenceOf names an object by its key in the store: "secrets/app/db".
func ReferenceOf(key string) string { return strings.TrimPrefix(key, storagePrefix) }

// Outcome of an object.
type objectOutcome struct {
	value   []byte
	changed bool
	deleted bool
}

// Object examines a value of the store: what to write in its place, or that the object is to be deleted.
func (s *Scan) Object(kv host.KeyValue) (value []byte, changed, deleted bool) {
	o := s.examineObject(kv)
	return o.value, o.changed, o.deleted
}

func (s *Scan) examineObject(kv host.KeyValue) objectOutcome {
	s.Report.Objects++
	ref := ReferenceOf(kv.Key)
	v := &objectVisit{Scan: s, ref: ref, secret: strings.HasPrefix(ref, "secrets/"), names: map[string]string{}}
	if v.secret && strings.HasPrefix(lastStep(ref), helmSecret) {
		return v.examineRelease(kv)
	}
	value, err := v.editObject(kv)
	if err != nil {
		v.examineRaw(kv.Value)
		return objectOutcome{value: kv.Value}
	}
	return objectOutcome{value: value, changed: !bytes.Equal(value, kv.Value)}
}

// objectVisit examines one object.
type objectVisit struct {
	*Scan
	ref    string
	secret bool
	// names are those of "name" beside "value", by the path of both.
	names map[string]string
	// noting collects what recert renews, and nothing else; nil for an examination.
	noting *Seen
}

// editObject examines the texts of an object in whatever form it is stored.
func (v *objectVisit) editObject(kv host.KeyValue) ([]byte, error) {
	if bytes.HasPrefix(kv.Value, protobufMagic) && !v.secret && !strings.HasPrefix(v.ref, "configmaps/") {
		return editEnvelope(kv.Value, v.visitPair)
	}
	o, err := wire.NewObject(kv)
	if err != nil {
		return nil, err
	}
	if err := o.Walk(func(at []string, text string) {
		if n := len(at); n > 1 && at[n-1] == "name" {
			v.names[strings.Join(at[:n-1], "/")] = text
		}
	}); err != nil {
		return nil, err
	}
	if err := o.Edit(v.visitField); err != nil {
		return nil, err
	}
	if !isEncoded(kv.Value) {
		v.examineRaw(kv.Value)
	}
	return o.Value, nil
}

var (
	protobufMagic = []byte("k8s\x00")
	cborMagic     = []byte{0xd9, 0xd9, 0xf7}
)

// isEncoded reports whether a value is in one of the encodings of kube-apiserver.
func isEncoded(value []byte) bool {
	return bytes.HasPrefix(value, protobufMagic) || bytes.HasPrefix(value, cborMagic) || bytes.HasPrefix(value, []byte("{"))
}

// examineRaw examines a value that cannot be edited. What is found in it is refused: the place is not known well enough to change it.
func (v *objectVisit) examineRaw(value []byte) {
	if v.noting != nil {
		v.noteIn(v.noting, string(value))
		return
	}
	pl := Place{Object: v.ref}
	_, unread := v.scanner.editContent(string(value), false, func(h hit) bool {
		decision, reason := v.decideHit(h, pl)
		if decision == Removed {
			decision = Refused
		}
		v.noteHit(h.rule, pl, decision, reason)
		return false
	})
	v.noteUnread(pl, unread)
}

func (v *objectVisit) visitField(at []string, text string) (string, bool) {
	name := at[len(at)-1]
	if name == "value" {
		if n, ok := v.names[strings.Join(at[:len(at)-1], "/")]; ok {
			name = n
		}
	}
	return v.examineText(strings.Join(at, "/"), name, text)
}

func (v *objectVisit) visitPair(at, name, text string) (string, bool) {
	return v.examineText(at, name, text)
}

// examineText examines one text of the object, which is called name.
func (v *objectVisit) examineText(at, name, text string) (string, bool) {
	if len(text) < leastInField {
		return text, false
	}
	if v.noting != nil {
		v.noteIn(v.noting, text)
		return text, false
	}
	pl := Place{Object: v.ref, Key: strings.TrimPrefix(at, "data/")}
	found := false
	out, unread := v.scanner.editContent(text, true, func(h hit) bool {
		found = true
		return v.decideAndNote(h, pl)
	})
	v.noteUnread(pl, unread)
	if found || out != text {
		return out, out != text
	}
	return v.examineByName(pl, name, text, strings.HasPrefix(at, "data/"))
}

// examineByName goes by the name of a text; in the data of a Secret also by its randomness alone.
func (v *objectVisit) examineByName(pl Place, name, text string, data bool) (string, bool) {
	value := strings.TrimSpace(text)
	plain, rule := plainOf(value), ""
	switch {
	case namesSecret(withoutSuffix(name), plain, leastInField) && !strings.ContainsAny(value, "\n"):
		rule = ruleKeyword
	case v.secret && data && (looksRandom(plain) || isRandomBytes(text)):
		rule = ruleOpaque
	default:
		return text, false
	}
	h := hit{rule: v.scanner.ruleNamed(rule), value: text}
	if v.decideAndNote(h, pl) {
		return Placeholder, true
	}
	return text, false
}

// isRandomBytes recognises a key that is no text, as programs draw them.
func isRandomBytes(content string) bool {
	return len(content) >= randomLen && len(content) <= 128 && !isText(content) &&
		!wire.IsCompressed(content) && entropy(content) >= randomBits
}

// withoutSuffix is a name without the ending of a file.
func withoutSuffix(name string) string {
	for _, suffix := range []string{".txt", ".json", ".yaml", ".conf", ".b64"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// plainOf decodes a value that is text, or something compressed, in base64.
func plainOf(value string) string {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err == nil && len(plain) >= 4 && (isText(string(plain)) || wire.IsCompressed(string(plain))) {
		return string(plain)
	}
	return value
}

func (v *objectVisit) decideAndNote(h hit, pl Place) bool {
	decision, reason := v.decideHit(h, pl)
	v.noteHit(h.rule, pl, decision, reason)
	return decision == Removed
}

// examineRelease examines a release: it holds every manifest and value of the application, Secrets among them. One that has any is deleted;
// Helm adopts the application again with the next upgrade.
func (v *objectVisit) examineRelease(kv host.KeyValue) objectOutcome {
	pl := Place{Object: v.ref}
	o, err := wire.NewObject(kv)
	holds := err != nil
	if err == nil {
		err = o.Walk(func(at []string, text string) {
			if len(at) == 2 && at[0] == "data" {
				holds = v.releaseHolds(text) || holds
			}
		})
	}
	if err == nil && !holds {
		return objectOutcome{value: kv.Value}
	}
	h := hit{rule: v.scanner.whole[ruleHelm]}
	return objectOutcome{value: kv.Value, deleted: v.decideAndNote(h, pl)}
}

// releaseHolds reports whether a release has a Secret or any other find; one that cannot be unpacked has.
func (v *objectVisit) releaseHolds(text string) bool {
	plain := text
	for range 2 {
		if decoded, err := base64.StdEncoding.DecodeString(plain); err == nil {
			plain = string(decoded)
		}
	}
	inflated, ok := wire.Inflate(plain)
	if !ok {
		return true
	}
	found := secretManifest(inflated)
	_, unread := v.scanner.editContent(inflated, true, func(hit) bool { found = true; return false })
	return found || unread != ""
}

func secretManifest(text string) bool {
	return strings.Contains(text, "kind: Secret") || strings.Contains(text, `"kind":"Secret"`) ||
		strings.Contains(text, `kind\":\"Secret`) ||
		strings.Contains(text, `"kind": "Secret"`)
}

func (s *scanner) ruleNamed(rule string) *Rule {
	for i := range s.text {
		if s.text[i].Name == rule {
			return &s.text[i]
		}
	}
	return s.whole[rule]
}
