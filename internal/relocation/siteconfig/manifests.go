package siteconfig

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DecodeManifests reads the objects of a file, document by document.
func DecodeManifests(data []byte) ([]json.RawMessage, []Problem) {
	text, problem := plainText(data)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	var out []json.RawMessage
	f := &filler{}
	for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, append(f.problems, Problem{Want: "the file is not YAML: " + yamlReason(err)})
		}
		root := doc.Content[0]
		if root.Tag == "!!null" {
			continue
		}
		if p := checkTree(root); p != nil {
			return out, append(f.problems, *p)
		}
		var object json.RawMessage
		f.raw(reflect.ValueOf(&object).Elem(), root, "")
		out = append(out, object)
	}
	v := &validator{}
	v.manifests("object", out)
	return out, append(f.problems, v.problems...)
}
