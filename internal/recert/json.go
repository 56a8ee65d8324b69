package recert

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// jsonEditor edits strings of one JSON document (RFC 8259) that is known to be valid: it only has to find where things are, and
// makes no token of what nobody looks at.
type jsonEditor struct {
	doc   string
	pos   int // of what is read next
	out   []byte
	last  int // end of what is in out
	visit visitor
	keys  visitor // sees the keys of objects, with the path of the object; nil leaves them
	err   error   // the first
}

// editJSON visits every string value of a JSON document and returns the document with the new ones
// in place; all other bytes stay.
func editJSON(doc []byte, visit visitor) ([]byte, error) {
	return (&jsonEditor{visit: visit}).edit(doc)
}

// editJSONKeys does the same for the keys of objects.
func editJSONKeys(doc []byte, visit visitor) ([]byte, error) {
	keep := func(_ []string, text string) (string, bool) { return text, false }
	return (&jsonEditor{visit: keep, keys: visit}).edit(doc)
}

func (e *jsonEditor) edit(doc []byte) ([]byte, error) {
	if !json.Valid(doc) {
		var raw json.RawMessage
		return nil, fmt.Errorf("read JSON: %w", json.Unmarshal(doc, &raw))
	}
	e.doc = string(doc)
	e.value(nil)
	if e.err != nil {
		return nil, e.err
	}
	if e.last == 0 {
		return doc, nil
	}
	return append(e.out, e.doc[e.last:]...), nil
}

// value reads whatever comes next and everything in it.
func (e *jsonEditor) value(path []string) {
	switch e.peek() {
	case '{':
		e.object(path)
	case '[':
		e.array(path)
	case '"':
		e.text(path, e.visit)
	default: // a number, true, false or null
		if end := strings.IndexAny(e.doc[e.pos:], ",]} \t\r\n"); end >= 0 {
			e.pos += end
		} else {
			e.pos = len(e.doc)
		}
	}
}

func (e *jsonEditor) object(path []string) {
	for e.pos++; e.peek() != '}'; {
		if e.doc[e.pos] == ',' {
			e.pos++
			e.peek()
		}
		key := e.text(path, e.keys)
		e.peek()
		e.pos++ // the colon
		e.value(append(path, key))
	}
	e.pos++
}

func (e *jsonEditor) array(path []string) {
	e.pos++
	for i := 0; e.peek() != ']'; i++ {
		if e.doc[e.pos] == ',' {
			e.pos++
		}
		e.value(append(path, strconv.Itoa(i)))
	}
	e.pos++
}

// peek skips white space and tells what stands behind it.
func (e *jsonEditor) peek() byte {
	for {
		switch c := e.doc[e.pos]; c {
		case ' ', '\t', '\r', '\n':
			e.pos++
		default:
			return c
		}
	}
}

// text reads a string, shows it to the visitor, if there is one, and puts the answer in its place.
func (e *jsonEditor) text(path []string, visit visitor) string {
	start, escaped := e.pos, false
	for e.pos++; e.doc[e.pos] != '"'; e.pos++ {
		if e.doc[e.pos] == '\\' {
			escaped = true
			e.pos++
		}
	}
	e.pos++
	text := e.doc[start+1 : e.pos-1]
	if escaped {
		e.note(json.Unmarshal([]byte(e.doc[start:e.pos]), &text))
	}
	if visit == nil || e.err != nil {
		return text
	}
	if edited, changed := visit(path, text); changed {
		quoted, err := json.Marshal(edited)
		e.note(err)
		e.out = append(append(e.out, e.doc[e.last:start]...), quoted...)
		e.last = e.pos
	}
	return text
}

func (e *jsonEditor) note(err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("read JSON: %w", err)
	}
}
