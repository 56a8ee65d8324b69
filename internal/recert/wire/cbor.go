package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// Major types of CBOR (RFC 8949 3.1).
const (
	_ = iota // unsigned and negative numbers end with their head
	_
	cborBytes
	cborText
	cborArray
	cborMap
	cborTag
)

// maxNesting bounds the recursion over a document; kube-apiserver itself accepts 64 levels.
const maxNesting = 128

var (
	errCBORShort      = errors.New("the document ends too early")
	errCBORIndefinite = errors.New("items of indefinite length are not supported")
	errCBORNesting    = errors.New("nested too deeply")
)

// cborWalker edits one CBOR document. Strings stand in Kubernetes' CBOR as byte strings, []byte as a byte string with a
// tag, so a text is any string of either type; the type, and the tags before it, stay.
type cborWalker struct {
	doc   []byte
	pos   int
	out   []byte
	last  int // end of what is in out
	path  []string
	visit Visitor
	keys  Visitor // sees the keys of maps, with the path of the map; nil leaves them
}

// editCBOR visits every string value of a CBOR document and returns the document with the new ones in
// place. Maps and arrays count their items, not their bytes, so nothing else has to change.
func editCBOR(doc []byte, visit Visitor) ([]byte, error) {
	return (&cborWalker{doc: doc, visit: visit}).editDocument()
}

// editCBORKeys does the same for the keys of maps.
func editCBORKeys(doc []byte, visit Visitor) ([]byte, error) {
	leave := func(_ []string, text string) (string, bool) { return text, false }
	return (&cborWalker{doc: doc, visit: leave, keys: visit}).editDocument()
}

func (w *cborWalker) editDocument() ([]byte, error) {
	if err := w.walkItem(0); err != nil {
		return nil, fmt.Errorf("read CBOR at byte %d: %w", w.pos, err)
	}
	if w.pos != len(w.doc) {
		return nil, fmt.Errorf("read CBOR: %d bytes follow the document", len(w.doc)-w.pos)
	}
	if w.out == nil {
		return w.doc, nil
	}
	return append(w.out, w.doc[w.last:]...), nil
}

// readHead reads the first bytes of an item: its major type and its argument.
func (w *cborWalker) readHead() (major byte, arg uint64, err error) {
	if w.pos >= len(w.doc) {
		return 0, 0, errCBORShort
	}
	first := w.doc[w.pos]
	major, info := first>>5, first&0x1f
	w.pos++
	switch {
	case info < 24:
		return major, uint64(info), nil
	case info > 27:
		return 0, 0, errCBORIndefinite
	}
	n := 1 << (info - 24)
	if len(w.doc)-w.pos < n {
		return 0, 0, errCBORShort
	}
	var wide [8]byte
	copy(wide[8-n:], w.doc[w.pos:w.pos+n])
	w.pos += n
	return major, binary.BigEndian.Uint64(wide[:]), nil
}

// readBytes takes n bytes.
func (w *cborWalker) readBytes(n uint64) ([]byte, error) {
	if n > math.MaxInt32 || len(w.doc)-w.pos < int(n) {
		return nil, errCBORShort
	}
	w.pos += int(n)
	return w.doc[w.pos-int(n) : w.pos], nil
}

func (w *cborWalker) walkItem(depth int) error {
	if depth > maxNesting {
		return errCBORNesting
	}
	start := w.pos
	major, arg, err := w.readHead()
	if err != nil {
		return err
	}
	switch major {
	case cborBytes, cborText:
		return w.visitString(start, major, arg)
	case cborArray:
		return w.walkArray(arg, depth)
	case cborMap:
		return w.walkMap(arg, depth)
	case cborTag:
		return w.walkItem(depth + 1)
	}
	return nil // numbers and simple values end with their head
}

func (w *cborWalker) visitString(start int, major byte, n uint64) error {
	content, err := w.readBytes(n)
	if err != nil {
		return err
	}
	if edited, changed := w.visit(w.path, TextOf(content)); changed {
		w.replaceString(start, major, edited)
	}
	return nil
}

// replaceString puts a string in the place of the one that was just read.
func (w *cborWalker) replaceString(start int, major byte, edited string) {
	if major == cborText && !utf8.ValidString(edited) {
		major = cborBytes // a text string must be UTF-8
	}
	w.out = append(w.out, w.doc[w.last:start]...)
	w.out = append(appendCBORHead(w.out, major, uint64(len(edited))), edited...)
	w.last = w.pos
}

func (w *cborWalker) walkArray(n uint64, depth int) error {
	for i := range n {
		w.path = append(w.path, strconv.FormatUint(i, 10))
		if err := w.walkItem(depth + 1); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	return nil
}

func (w *cborWalker) walkMap(n uint64, depth int) error {
	for range n {
		start := w.pos
		major, size, err := w.readHead()
		if err != nil {
			return err
		}
		if major != cborBytes && major != cborText {
			return errors.New("a key is not a string")
		}
		key, err := w.readBytes(size)
		if err != nil {
			return err
		}
		if w.keys != nil {
			if edited, changed := w.keys(w.path, string(key)); changed {
				w.replaceString(start, major, edited)
			}
		}
		w.path = append(w.path, string(key))
		if err := w.walkItem(depth + 1); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	return nil
}

// appendCBORHead writes the shortest head, as the encoders of Kubernetes do.
func appendCBORHead(out []byte, major byte, arg uint64) []byte {
	first := major << 5
	switch {
	case arg < 24:
		return append(out, first|byte(arg))
	case arg <= math.MaxUint8:
		return append(out, first|24, byte(arg))
	case arg <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, first|25), uint16(arg))
	case arg <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(out, first|26), uint32(arg))
	}
	return binary.BigEndian.AppendUint64(append(out, first|27), arg)
}
