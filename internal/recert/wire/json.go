package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonEditor edits strings of one JSON document (RFC 8259). Documents are taken as encoding/json takes them: a name may stand
// twice in an object, and a string may not be UTF-8.
type jsonEditor struct {
	in    *jsontext.Decoder
	doc   []byte
	out   []byte
	last  int // end of what is in out
	visit Visitor
	keys  Visitor // sees the keys of objects, with the path of the object; nil leaves them
}

// EditJSON visits every string value of a JSON document and returns the document with the new ones
// in place; all other bytes stay.
func EditJSON(doc []byte, visit Visitor) ([]byte, error) {
	return (&jsonEditor{visit: visit}).editDocument(doc)
}

// editJSONKeys does the same for the keys of objects.
func editJSONKeys(doc []byte, visit Visitor) ([]byte, error) {
	keep := func(_ []string, text string) (string, bool) { return text, false }
	return (&jsonEditor{visit: keep, keys: visit}).editDocument(doc)
}

func (e *jsonEditor) editDocument(doc []byte) ([]byte, error) {
	e.doc = doc
	e.in = jsontext.NewDecoder(bytes.NewBuffer(doc), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := e.walkValue(nil); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, err := e.in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read JSON: the document ends at byte %d, and more follows", e.in.InputOffset())
	}
	if e.last == 0 {
		return doc, nil
	}
	return append(e.out, e.doc[e.last:]...), nil
}

// walkValue reads whatever comes next and everything in it.
func (e *jsonEditor) walkValue(path []string) error {
	switch e.in.PeekKind() {
	case '{':
		return e.walkObject(path)
	case '[':
		return e.walkArray(path)
	case '"':
		_, err := e.visitString(path, e.visit)
		return err
	default:
		return e.in.SkipValue()
	}
}

func (e *jsonEditor) walkObject(path []string) error {
	if _, err := e.in.ReadToken(); err != nil {
		return err
	}
	for e.in.PeekKind() != '}' {
		key, err := e.visitString(path, e.keys)
		if err != nil {
			return err
		}
		if err := e.walkValue(append(path, key)); err != nil {
			return err
		}
	}
	_, err := e.in.ReadToken()
	return err
}

func (e *jsonEditor) walkArray(path []string) error {
	if _, err := e.in.ReadToken(); err != nil {
		return err
	}
	for i := 0; e.in.PeekKind() != ']'; i++ {
		if err := e.walkValue(append(path, strconv.Itoa(i))); err != nil {
			return err
		}
	}
	_, err := e.in.ReadToken()
	return err
}

// visitString reads a string and replaces it as the visitor, if any, asks.
func (e *jsonEditor) visitString(path []string, visit Visitor) (string, error) {
	quoted, err := e.in.ReadValue()
	if err != nil {
		return "", err
	}
	text := unquoteJSON(quoted)
	if visit == nil {
		return text, nil
	}
	if edited, changed := visit(path, text); changed {
		fresh, err := json.Marshal(edited)
		if err != nil {
			return "", fmt.Errorf("encode the edited text: %w", err)
		}
		end := int(e.in.InputOffset())
		e.out = append(append(e.out, e.doc[e.last:end-len(quoted)]...), fresh...)
		e.last = end
	}
	return text, nil
}

// unquoteJSON reads a string that is known to be valid.
func unquoteJSON(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, quoted) // the error is about bytes that are not UTF-8, which it replaces
	return string(text)
}
