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

// editJSON visits every string value of a JSON document and returns the document with the new ones
// in place; all other bytes stay.
func editJSON(doc []byte, visit visitor) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var out []byte
	var path []string
	var stack []jsonFrame
	last := 0 // end of what is in out
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
			path, stack[n-1].value = append(path, tok.(string)), true
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
			if edited, changed := visit(path, text); changed {
				end := int(dec.InputOffset())
				start := before + bytes.IndexByte(doc[before:end], '"')
				quoted, err := json.Marshal(edited)
				if err != nil {
					return nil, fmt.Errorf("write JSON: %w", err)
				}
				out = append(append(out, doc[last:start]...), quoted...)
				last = end
			}
		}
		path = leave(stack, path)
	}
	if last == 0 {
		return doc, nil
	}
	return append(out, doc[last:]...), nil
}

// leave ends a value: its key or index leaves the path.
func leave(stack []jsonFrame, path []string) []string {
	if n := len(stack); n > 0 {
		stack[n-1].value = false
		return path[:len(path)-1]
	}
	return path
}
