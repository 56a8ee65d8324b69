package recert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// jsonFrame is an open object or array of the document being read.
type jsonFrame struct {
	array bool
	index int  // of the next element
	value bool // in an object: the next string is a value, not a key
}

// jsonEditor edits strings of one JSON document.
type jsonEditor struct {
	doc   []byte
	out   []byte
	last  int // end of what is in out
	visit visitor
	keys  visitor // sees the keys of objects, with the path of the object; nil leaves them
}

// editJSON visits every string value of a JSON document and returns the document with the new ones
// in place; all other bytes stay.
func editJSON(doc []byte, visit visitor) ([]byte, error) {
	return (&jsonEditor{doc: doc, visit: visit}).edit()
}

// editJSONKeys does the same for the keys of objects.
func editJSONKeys(doc []byte, visit visitor) ([]byte, error) {
	keep := func(_ []string, text string) (string, bool) { return text, false }
	return (&jsonEditor{doc: doc, visit: keep, keys: visit}).edit()
}

func (e *jsonEditor) edit() ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(e.doc))
	dec.UseNumber()
	var path []string
	var stack []jsonFrame
	for {
		before := int(dec.InputOffset())
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) && len(stack) == 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		if d, ok := tok.(json.Delim); ok && (d == '}' || d == ']') {
			stack = stack[:len(stack)-1]
			path = leave(stack, path)
			continue
		}
		if n := len(stack); n > 0 && !stack[n-1].array && !stack[n-1].value {
			key := tok.(string)
			if e.keys != nil {
				if err := e.offer(e.keys, path, key, before, int(dec.InputOffset())); err != nil {
					return nil, err
				}
			}
			path, stack[n-1].value = append(path, key), true
			continue
		} else if n > 0 && stack[n-1].array {
			path = append(path, strconv.Itoa(stack[n-1].index))
			stack[n-1].index++
		}
		if d, ok := tok.(json.Delim); ok {
			stack = append(stack, jsonFrame{array: d == '['})
			continue
		}
		if text, ok := tok.(string); ok {
			if err := e.offer(e.visit, path, text, before, int(dec.InputOffset())); err != nil {
				return nil, err
			}
		}
		path = leave(stack, path)
	}
	if e.last == 0 {
		return e.doc, nil
	}
	return append(e.out, e.doc[e.last:]...), nil
}

// offer shows a visitor the string that ends at end and puts its answer in the place of it.
func (e *jsonEditor) offer(visit visitor, path []string, text string, before, end int) error {
	edited, changed := visit(path, text)
	if !changed {
		return nil
	}
	quoted, err := json.Marshal(edited)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	start := before + bytes.IndexByte(e.doc[before:end], '"')
	e.out = append(append(e.out, e.doc[e.last:start]...), quoted...)
	e.last = end
	return nil
}

// leave ends a value: its key or index leaves the path.
func leave(stack []jsonFrame, path []string) []string {
	if n := len(stack); n > 0 {
		stack[n-1].value = false
		return path[:len(path)-1]
	}
	return path
}
