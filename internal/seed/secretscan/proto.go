package secretscan

import (
	"bytes"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Objects in protobuf are examined without their schemas: a field that is a message is followed, every other text is examined. Fields
// keep their place, and all that nothing was found in keeps its bytes.

// maxFields is the largest number of a field that is taken for one, maxNesting how deep messages are followed.
const (
	maxFields  = 300
	maxNesting = 40
)

// pairVisitor sees a text with its place, and its name where it is the second of a pair.
type pairVisitor func(at, name, text string) (string, bool)

// editEnvelope edits the object inside runtime.Unknown.
func editEnvelope(value []byte, visit pairVisitor) ([]byte, error) {
	body := value[len(protobufMagic):]
	if !isMessage(body) {
		return nil, fmt.Errorf("read protobuf: it ends early")
	}
	out, changed := editMessage(body, "field", 0, visit)
	if !changed {
		return value, nil
	}
	return append(bytes.Clone(protobufMagic), out...), nil
}

// isMessage reports whether the bytes are a message from the first to the last.
func isMessage(msg []byte) bool {
	for len(msg) > 0 {
		num, typ, tag := protowire.ConsumeTag(msg)
		if tag < 0 || num > maxFields || typ == protowire.StartGroupType || typ == protowire.EndGroupType {
			return false
		}
		n := protowire.ConsumeFieldValue(num, typ, msg[tag:])
		if n < 0 {
			return false
		}
		msg = msg[tag+n:]
	}
	return true
}

// holdsMessage reports whether a field holds a message. A text that could be one has to begin with a field that has a length.
func holdsMessage(value []byte) bool {
	if len(value) < 2 || !isMessage(value) {
		return false
	}
	return value[0]&7 == byte(protowire.BytesType) || !isText(string(value))
}

func editMessage(msg []byte, at string, depth int, visit pairVisitor) (out []byte, changed bool) {
	name := pairName(msg)
	for pos := 0; pos < len(msg); {
		num, typ, tag := protowire.ConsumeTag(msg[pos:])
		end := pos + tag + protowire.ConsumeFieldValue(num, typ, msg[pos+tag:])
		if typ == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(msg[pos+tag:])
			if edited, ok := editField(value, at+"."+strconv.Itoa(int(num)), name, num, depth, visit); ok {
				if !changed {
					out, changed = append(make([]byte, 0, len(msg)), msg[:pos]...), true
				}
				out = protowire.AppendBytes(protowire.AppendTag(out, num, typ), edited)
				pos = end
				continue
			}
		}
		if changed {
			out = append(out, msg[pos:end]...)
		}
		pos = end
	}
	if !changed {
		return msg, false
	}
	return out, true
}

func editField(value []byte, at, name string, num protowire.Number, depth int, visit pairVisitor) ([]byte, bool) {
	if depth < maxNesting && holdsMessage(value) {
		return editMessage(value, at, depth+1, visit)
	}
	if num != 2 {
		name = ""
	} else if name != "" {
		at = name
	}
	edited, changed := visit(at, name, string(value))
	return []byte(edited), changed
}

// pairName is the first text of a message that has two: the name of a variable or the key of a map.
func pairName(msg []byte) string {
	num, typ, tag := protowire.ConsumeTag(msg)
	if tag < 0 || num != 1 || typ != protowire.BytesType {
		return ""
	}
	value, n := protowire.ConsumeBytes(msg[tag:])
	if n < 0 || len(value) > 253 || !isText(string(value)) || holdsMessage(value) {
		return ""
	}
	return string(value)
}
