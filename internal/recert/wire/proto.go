package wire

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// protoKind is how a field of a protobuf message is read.
type protoKind int

const (
	protoText protoKind = iota
	protoMessage
	protoMap // map<string, string> or map<string, bytes>
)

// protoField is one field that rules may want to see; all others are carried along unread.
type protoField struct {
	name     string
	kind     protoKind
	repeated bool
	sub      protoSchema
}

// protoSchema names fields by their numbers, which Kubernetes promises to keep
// (generated.proto of k8s.io/api, k8s.io/apimachinery).
type protoSchema map[protowire.Number]protoField

// schemas are the kinds whose texts can be reached, by kind; never written to.
var schemas = protoSchemas()

func protoSchemas() map[string]protoSchema {
	meta := protoField{name: "metadata", kind: protoMessage, sub: protoSchema{
		1: {name: "name"}, 3: {name: "namespace"},
		11: {name: "labels", kind: protoMap}, 12: {name: "annotations", kind: protoMap},
		13: {name: "ownerReferences", kind: protoMessage, repeated: true, sub: protoSchema{1: {name: "kind"}, 3: {name: "name"}}},
	}}
	container := protoSchema{
		1: {name: "name"}, 3: {name: "command", repeated: true}, 4: {name: "args", repeated: true},
		7: {name: "env", kind: protoMessage, repeated: true, sub: protoSchema{1: {name: "name"}, 2: {name: "value"}}},
	}
	podSpec := protoSchema{
		2:  {name: "containers", kind: protoMessage, repeated: true, sub: container},
		20: {name: "initContainers", kind: protoMessage, repeated: true, sub: container},
	}
	template := protoSchema{1: meta, 2: {name: "spec", kind: protoMessage, sub: podSpec}}
	address := protoSchema{1: {name: "type"}, 2: {name: "address"}}
	endpoint := protoSchema{1: {name: "ip"}}
	subset := protoSchema{
		1: {name: "addresses", kind: protoMessage, repeated: true, sub: endpoint},
		2: {name: "notReadyAddresses", kind: protoMessage, repeated: true, sub: endpoint},
	}
	client := protoField{name: "clientConfig", kind: protoMessage, sub: protoSchema{2: {name: "caBundle"}, 3: {name: "url"}}}
	webhooks := protoSchema{1: meta, 2: {name: "webhooks", kind: protoMessage, repeated: true,
		sub: protoSchema{1: {name: "name"}, 2: client}}}
	workload := func(templateField protowire.Number) protoSchema {
		spec := protoSchema{templateField: {name: "template", kind: protoMessage, sub: template}}
		return protoSchema{1: meta, 2: {name: "spec", kind: protoMessage, sub: spec}}
	}
	tls := protoSchema{2: {name: "certificate"}, 3: {name: "key"}, 4: {name: "caCertificate"}, 5: {name: "destinationCACertificate"}}
	return map[string]protoSchema{
		"ValidatingWebhookConfiguration": webhooks,
		"MutatingWebhookConfiguration":   webhooks,
		"APIService": {1: meta, 2: {name: "spec", kind: protoMessage, sub: protoSchema{
			2: {name: "group"}, 3: {name: "version"}, 5: {name: "caBundle"}}}},
		"DaemonSet":   workload(2),
		"StatefulSet": workload(3),
		"Deployment":  workload(3),
		"Secret":      {1: meta, 2: {name: "data", kind: protoMap}},
		"ConfigMap":   {1: meta, 2: {name: "data", kind: protoMap}, 3: {name: "binaryData", kind: protoMap}},
		"Node": {1: meta, 3: {name: "status", kind: protoMessage, sub: protoSchema{
			5: {name: "addresses", kind: protoMessage, repeated: true, sub: address}}}},
		// github.com/openshift/api, route/v1 and oauth/v1
		"Route": {1: meta, 2: {name: "spec", kind: protoMessage, sub: protoSchema{
			1: {name: "host"}, 6: {name: "tls", kind: protoMessage, sub: tls}}},
			3: {name: "status", kind: protoMessage, sub: protoSchema{1: {name: "ingress", kind: protoMessage, repeated: true,
				sub: protoSchema{1: {name: "host"}, 5: {name: "routerCanonicalHostname"}}}}}},
		"OAuthClient": {1: meta, 5: {name: "redirectURIs", repeated: true}},
		"Pod":         {1: meta},
		"Lease":       {1: meta},
		"Endpoints":   {1: meta, 2: {name: "subsets", kind: protoMessage, repeated: true, sub: subset}},
		"EndpointSlice": {1: meta, 2: {name: "endpoints", kind: protoMessage, repeated: true, sub: protoSchema{
			1: {name: "addresses", repeated: true}}}},
	}
}

// editProto visits the texts that the schema names and returns the message with the new ones, and whether there are any.
// Fields that the schema does not name keep their bytes and their place.
func editProto(msg []byte, schema protoSchema, path []string, visit Visitor) ([]byte, bool, error) {
	var out []byte                    // nil while nothing has changed
	var seen map[protowire.Number]int // of repeated fields; most messages have none
	for pos := 0; pos < len(msg); {
		num, typ, tagLen := protowire.ConsumeTag(msg[pos:])
		if tagLen < 0 {
			return nil, false, fmt.Errorf("field below %q: %w", path, protowire.ParseError(tagLen))
		}
		valueLen := protowire.ConsumeFieldValue(num, typ, msg[pos+tagLen:])
		if valueLen < 0 {
			return nil, false, fmt.Errorf("field %d below %q: %w", num, path, protowire.ParseError(valueLen))
		}
		end := pos + tagLen + valueLen
		field, known := schema[num]
		if known && typ == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(msg[pos+tagLen:])
			at := append(path, field.name)
			if field.repeated {
				if seen == nil {
					seen = map[protowire.Number]int{}
				}
				at = append(at, strconv.Itoa(seen[num]))
				seen[num]++
			}
			edited, changed, err := editField(value, field, at, visit)
			if err != nil {
				return nil, false, err
			}
			if changed {
				if out == nil {
					out = append(make([]byte, 0, len(msg)+len(edited)), msg[:pos]...)
				}
				out = protowire.AppendTag(out, num, typ)
				out = protowire.AppendBytes(out, edited)
				pos = end
				continue
			}
		}
		if out != nil {
			out = append(out, msg[pos:end]...)
		}
		pos = end
	}
	if out == nil {
		return msg, false, nil
	}
	return out, true, nil
}

func editField(value []byte, field protoField, path []string, visit Visitor) ([]byte, bool, error) {
	switch field.kind {
	case protoText:
		text, changed := visit(path, TextOf(value))
		return []byte(text), changed, nil
	case protoMap:
		key, err := mapKey(value)
		if err != nil {
			return nil, false, fmt.Errorf("key of map %q: %w", path, err)
		}
		field.sub, path = protoSchema{2: {name: key}}, path[:len(path):len(path)]
	default: // a message is walked below
	}
	return editProto(value, field.sub, path, visit)
}

// mapKey reads field 1 of a map's entry.
func mapKey(entry []byte) (string, error) {
	for len(entry) > 0 {
		num, typ, n := protowire.ConsumeField(entry)
		if n < 0 {
			return "", protowire.ParseError(n)
		}
		if num == 1 && typ == protowire.BytesType {
			_, _, tagLen := protowire.ConsumeTag(entry)
			key, _ := protowire.ConsumeString(entry[tagLen:])
			return key, nil
		}
		entry = entry[n:]
	}
	return "", nil
}
